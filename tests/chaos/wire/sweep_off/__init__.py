"""What the platform is given in place of a function's own main.py."""

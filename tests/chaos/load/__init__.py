"""Many runs at once, and many steps in one run: what a laptop stands, in figures."""

"""A function as it would be deployed."""

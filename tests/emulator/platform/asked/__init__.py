"""The source of an HTTP function, as it would be deployed."""

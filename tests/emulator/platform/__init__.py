"""The platform as a whole: what it starts, what it survives, and what it gives to a test."""

"""A function that leaves a note: what a crash test needs to crash."""

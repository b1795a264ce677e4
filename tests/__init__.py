"""Proof that it works, from the pure core outwards; a test reads as a sentence."""

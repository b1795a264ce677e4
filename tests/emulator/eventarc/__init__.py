"""Events on their way from a Firestore to functions that are good, bad or absent."""

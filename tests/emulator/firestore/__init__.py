"""A Firestore server, tried through the unmodified client library; the official emulator is the oracle."""

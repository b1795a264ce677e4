"""The local Cloud Storage, seen through the client library that production uses, unmodified."""

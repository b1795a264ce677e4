"""The local platform, seen through the unmodified client libraries."""

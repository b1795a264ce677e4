"""Nothing secret gets out, and nothing hostile gets out of its place."""

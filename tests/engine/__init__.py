"""The shell around the core, over in-memory twins: what is written, what is called, and how often."""

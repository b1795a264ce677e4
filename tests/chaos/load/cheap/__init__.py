"""A worker whose work costs nothing: what is left is the flow itself."""

"""A function that cannot even be loaded."""

raise RuntimeError("nobody deployed my dependency")

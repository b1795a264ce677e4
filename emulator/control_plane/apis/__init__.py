"""One module for each of Google's APIs, as far as a deployment asks it for something."""

"""The language-neutral cases of spec/vectors, replayed on the real code."""

"""What the host says when it cannot go on."""


class PlatformFailed(Exception):
    """A part did not come up; the message says which, and what to do."""

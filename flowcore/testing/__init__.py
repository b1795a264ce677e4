"""In-memory twins of every port, and builders: for our tests, and for those of whoever writes a step type.

The twins keep the promises that the real stores keep (preconditions, create-only, an event for every change and none
for a write that changes nothing) and count what they are asked, because calls are money.
"""

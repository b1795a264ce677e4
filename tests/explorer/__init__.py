"""A model checker over the real kernel: the code that runs in the cloud, not a model of it.

How it gets hold of code in the middle of a function: every invocation is run again from its start with the answers
that it got so far, and stops at its next call to the outside (`programs`). A state of the world is a document, the
objects, the deliveries under way and the invocations alive (`search`); from each state every order, every loss and
every crash that the fault budget allows is followed, until nothing new comes up. `laws` says what must hold.
"""

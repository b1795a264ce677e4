"""The system on the wire: real functions in real processes, real clients, real kills.

A case is a run and what goes wrong with its calls. `points` finds the calls by tracing an undisturbed run, `arena` runs
many cases at once on one platform and judges them, and the batteries choose the trouble: `matrix` at each point and at
pairs of them, `storms` at random.
"""

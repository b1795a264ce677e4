"""The system on its in-memory twins: real kernel, simulated everything else, one virtual clock.

A schedule is a function of its seed. `stepping` stops a function at each of its calls, `world` says what the calls do
and writes down what happened, `simulation` moves deliveries, calls and time, and three batteries choose the trouble:
`storms` at random, `pairs` at every two places, `dropped` with nothing but `sweep` left.
"""

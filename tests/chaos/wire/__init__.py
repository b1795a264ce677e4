"""The system on the wire: real functions in real processes, real clients, real kills.

A case is a run and what goes wrong with its calls and its events. The platform is a program (`host`) that can be killed
and comes back (`home`); its faults are planned by HTTP (`sky`) and its history is read as it grows (`book`). `tracing`
finds the calls of undisturbed runs (`flow`), and `points` says what can go wrong there. An `arena` keeps many runs
going at once, some with an `operator` who meddles; `cases` plays them, and `verdict` says what became of them. The
batteries choose the trouble: every point and pairs of points (`matrix`), `storms` at random, events that never come
(`dropped`).

A seed is the same plan of faults every time, as long as the points are the same (`tally` tells a digest of them); what
it leads to also depends on the machine. One case can be played again by its name (`python -m tests.chaos.wire`).

Clocks of functions differ by up to the margin of a lease, through `wrong_clock`, and never by more: what happens then
is the twins' to find out, who can say when exactly a lease ends under a worker. `small_pieces` and `heedless` take the
place of a function in the same way. Of cases that went wrong build/chaos keeps what the platform said, and its history.
"""

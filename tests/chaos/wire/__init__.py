"""The system on the wire: real functions in real processes, real clients, real kills.

A case is a run and what goes wrong with its calls and its events. The platform is a program (`host`) that can be killed
and comes back (`home`); its faults are planned by HTTP (`sky`) and its history is read as it grows (`book`). `points`
finds the calls by tracing undisturbed runs and says what can go wrong there. An `arena` keeps many runs going at once,
some with an `operator` who meddles, and judges them; `cases` plays them. The batteries choose the trouble: every point
and pairs of points (`batteries`), `storms` at random, events that never come (`dropped`).

A seed is the same plan of faults every time; what it leads to also depends on the machine. Clocks of functions differ
by up to the margin of a lease, through `wrong_clock`, and never by more: what happens then is the twins' to find out,
who can say when exactly a lease ends under a worker. Of cases that went wrong build/chaos keeps what the platform said,
and its history.
"""

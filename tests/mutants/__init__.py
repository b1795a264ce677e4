"""The kernel broken on purpose. A test that no break can fail proves nothing, so every break has to be noticed.

`catalogue` lists the breaks, each one exact replacement in one file. `workbench` makes a copy of the tree and breaks
that; `killers` are the suite and the explorer, run in the copy, the quickest first. What none of them notices is a
survivor: either a test is missing, or the line that was broken is not needed.
"""

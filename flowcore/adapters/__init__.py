"""The outside world behind our ports: one SDK a file. SDK exceptions become ours here and nowhere else."""

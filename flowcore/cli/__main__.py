"""`python -m flowcore.cli` is `flow`."""

from flowcore.cli import main

main()

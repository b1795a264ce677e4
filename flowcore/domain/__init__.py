"""The pure core: what a run is and what should happen to it next. Standard library only, no clock, no chance."""

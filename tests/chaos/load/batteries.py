"""What `make chaos` runs of this part."""

from tests.chaos.load import crowd, fan

BATTERIES = (*crowd.BATTERIES, *fan.BATTERIES)

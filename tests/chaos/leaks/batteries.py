"""What `make chaos` runs of this part."""

from tests.chaos.leaks import places, secrets

BATTERIES = (*secrets.BATTERIES, *places.BATTERIES)

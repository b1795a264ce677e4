"""What `make chaos` runs of this part."""

from tests.chaos.inputs import ports, twins, wire

BATTERIES = (*twins.BATTERIES, *wire.BATTERIES, *ports.BATTERIES)

"""Every battery there is, in the order in which they run: the quick ones first."""

from tests.chaos.battery import Battery
from tests.chaos.inputs.batteries import BATTERIES as INPUTS
from tests.chaos.leaks.batteries import BATTERIES as LEAKS
from tests.chaos.load.batteries import BATTERIES as LOAD
from tests.chaos.twins.batteries import BATTERIES as TWINS
from tests.chaos.wire.batteries import BATTERIES as WIRE

BATTERIES: tuple[Battery, ...] = (*TWINS, *INPUTS, *LEAKS, *WIRE, *LOAD)

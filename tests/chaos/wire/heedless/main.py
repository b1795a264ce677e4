"""A bug: a worker that looks for its object and does not heed what it finds, so that it does its work again.

Only when it stores does it notice, and then the run ends as it should: what is broken is a promise about paid calls.
"""

import importlib
import inspect
import os
from typing import Any

from flowcore.engine.results import Results

NAME = os.environ["FUNCTION_TARGET"]
_look = Results.existing


def _look_in_vain(*asked: Any) -> Any:
    found = _look(*asked)
    storing = inspect.stack()[1].function == Results.put.__name__
    return found if storing else None


setattr(Results, "existing", _look_in_vain)  # noqa: B010 - a method of another type
globals()[NAME] = getattr(importlib.import_module("tests.chaos.wire.wrong_clock.main"), NAME)

"""The export of candles in pieces and pages that are a fraction of their size: fewer candles take the same way."""

import importlib
import os

from flowcore.adapters import bigquery, gcs
from flowcore.engine import results

NAME = os.environ["FUNCTION_TARGET"]
PIECE = 2**18  # bytes: the smallest that Cloud Storage takes; 4 MiB in the cloud
PAGE = 1_000  # rows; 10,000 in the cloud

setattr(results, "WHOLE_UP_TO", PIECE)  # noqa: B010 - constants, for whoever reads the types
setattr(gcs, "PIECE", PIECE)  # noqa: B010
setattr(bigquery, "PAGE", PAGE)  # noqa: B010
globals()[NAME] = getattr(importlib.import_module("tests.chaos.wire.wrong_clock.main"), NAME)

"""Candles → charts → report, through real events and real clients, counted by the platform itself."""

import json
from typing import Any

import pytest

from flowcore.cli.seeding import seeds, sow
from flowcore.contracts.flows import instantiate
from flowcore.testing.builders import RUN_ID
from flowcore.testing.world import T0
from tests.functions.system import System

RUN = f"flow_runs/{RUN_ID}"


@pytest.fixture
def definition(system: System) -> dict[str, Any]:
    """The shipped flow, for one timeframe and without its summary: three steps in a row."""
    flows = {}
    for seed in seeds():
        system.put(seed.path, seed.fields)
        flows[seed.path] = seed.fields
    shipped: dict[str, Any] = json.loads(json.dumps(flows["flow_definitions/market_report_v1"]))
    del shipped["steps"]["llm_report_${timeframes.0}_summary_v1"]
    system.platform.faults.calls.clear()
    system.platform.faults.history.clear()
    return shipped


def three_steps(definition: dict[str, Any]) -> dict[str, object]:
    given = {"symbol": "BTCUSDT", "timeframes": ["1M"]}
    return instantiate(definition, given, run_id=RUN_ID, now=T0, trigger={"type": "USER", "source": "a test"})


def test_a_run_leaves_exactly_what_it_should(system: System, definition: dict[str, Any]) -> None:
    run_id = system.start(three_steps(definition))
    run = system.run(run_id)
    assert run["status"] == "SUCCEEDED", run
    assert {step["status"] for step in run["steps"].values()} == {"SUCCEEDED"}
    charts = f"charts/{run_id}/charts_1M_default_set_v1"
    assert sorted(system.objects()) == [
        f"{charts}/ctpl_price_ma1226_bb_macd1226_v1.png",
        f"{charts}/ctpl_price_ma1226_vol_v1.png",
        f"{charts}/manifest.json",
        f"runs/{run_id}/ohlcv/1M.json",
        f"runs/{run_id}/reports/1M/llm_report_1M_review_v1.json",
    ]


def test_a_run_costs_eleven_writes_no_read_and_one_model_call(system: System, definition: dict[str, Any]) -> None:
    system.start(three_steps(definition))
    writes = [
        entry for entry in system.platform.faults.history.of("write", service="firestore") if RUN in entry.resource
    ]
    assert len(writes) == 11
    assert system.calls("firestore", "Commit", f"*{RUN}") == 11
    assert system.calls("firestore", "BatchGetDocuments", f"*{RUN}") == 0
    assert system.calls("gemini", "*") == 1
    assert system.calls("bigquery", "jobs.query") == 1


def test_a_delivery_that_is_for_nobody_makes_no_call(system: System, definition: dict[str, Any]) -> None:
    run_id = system.start(three_steps(definition))
    system.platform.faults.calls.clear()
    system.db.document(RUN).update({"note": "a person wrote this"})
    system.settle()
    events = system.calls("eventarc")
    assert events == 4  # every function on the path was told
    assert system.calls("firestore") == 1  # the person's own write
    assert system.calls("storage") + system.calls("gemini") + system.calls("bigquery") == 0
    assert system.run(run_id)["status"] == "SUCCEEDED"


def test_seeding_twice_changes_nothing(system: System) -> None:
    from flowcore.adapters.firestore import FirestoreDocuments

    documents = FirestoreDocuments(system.db)
    first = [sow(documents, seed, replace=False).outcome for seed in seeds()]
    second = [sow(documents, seed, replace=False).outcome for seed in seeds()]
    assert set(first) == {"created"}
    assert set(second) == {"unchanged"}


def test_what_somebody_changed_is_kept_unless_told_otherwise(system: System) -> None:
    from flowcore.adapters.firestore import FirestoreDocuments

    documents, seed = FirestoreDocuments(system.db), next(seeds())
    system.put(seed.path, {**seed.fields, "description": "mine", "extra": 1})
    assert sow(documents, seed, replace=False).outcome == "kept"
    assert sow(documents, seed, replace=True).outcome == "replaced"
    assert system.get(seed.path) == seed.fields

"""What the chart worker is set up with, and what it costs to wake it."""

import json
import subprocess
import sys

import pytest

from flowcore.config import ChartsConfig, InvalidConfig

ACCOUNT = {"id": "first", "apiKey": "hunter2"}


def config(accounts: object, **more: str) -> ChartsConfig:
    text = accounts if isinstance(accounts, str) else json.dumps(accounts)
    return ChartsConfig.from_env({"CHARTS_RENDERER": "chart_img", "CHART_IMG_ACCOUNTS_JSON": text, **more})


def test_accounts_are_read_in_their_order() -> None:
    accounts = config([ACCOUNT, {"id": "second", "apiKey": " key ", "dailyLimit": 500}]).accounts
    assert [(each.id, each.api_key, each.daily_limit) for each in accounts] == [
        ("first", "hunter2", 44),
        ("second", "key", 500),
    ]


def test_a_key_does_not_show() -> None:
    assert "hunter2" not in repr(config([ACCOUNT]))


@pytest.mark.parametrize(
    "accounts",
    [
        "hunter2",
        "[" * 100_000,
        {"id": "first"},
        ["hunter2"],
        [{"id": "first"}],
        [{"apiKey": "hunter2"}],
        [{"id": "a/b", "apiKey": "hunter2"}],
        [{"id": "", "apiKey": "hunter2"}],
        [{"id": 5, "apiKey": "hunter2"}],
        [{"id": "first", "apiKey": " "}],
        [{"id": "first", "apiKey": 5}],
        [{**ACCOUNT, "dailyLimit": 0}],
        [{**ACCOUNT, "dailyLimit": True}],
        [{**ACCOUNT, "dailyLimit": "44"}],
        [ACCOUNT, ACCOUNT],
        [],
        "",
    ],
)
def test_accounts_that_cannot_be_used_are_refused_without_being_shown(accounts: object) -> None:
    with pytest.raises(InvalidConfig, match="CHART_IMG_ACCOUNTS_JSON") as refusal:
        config(accounts)
    assert "hunter2" not in str(refusal.value)
    assert refusal.value.__cause__ is None
    assert refusal.value.__suppress_context__ or refusal.value.__context__ is None


def test_charts_are_drawn_here_unless_told_otherwise() -> None:
    drawn = ChartsConfig.from_env({})
    assert (drawn.renderer, drawn.timezone, drawn.accounts) == ("local", "Etc/UTC", ())


@pytest.mark.parametrize("zone", ["Etc/UTC", "UTC", "Europe/Paris", " Asia/Tokyo "])
def test_a_time_zone_that_is_known_is_taken(zone: str) -> None:
    assert ChartsConfig.from_env({"CHARTS_TIMEZONE": zone}).timezone == zone.strip()


@pytest.mark.parametrize(
    "zone",
    ["Europe/Hunter2", "Hunter2", "Europe", "europe/hunter2", "../hunter2", "/etc/hunter2", "hunter2\x00", "+02:00"],
)
def test_a_time_zone_that_nobody_knows_stops_the_process_at_its_start(zone: str) -> None:
    with pytest.raises(InvalidConfig, match="CHARTS_TIMEZONE must be a time zone") as refusal:
        ChartsConfig.from_env({"CHARTS_TIMEZONE": zone})
    assert zone not in str(refusal.value).replace("Etc/UTC", "")
    assert refusal.value.__suppress_context__


def test_recordings_need_a_folder() -> None:
    with pytest.raises(InvalidConfig, match="CHART_IMG_RECORDINGS"):
        ChartsConfig.from_env({"CHARTS_RENDERER": "recorded"})


def test_waking_up_loads_nothing_that_draws_or_calls() -> None:
    script = (
        "import os, sys; os.environ['ARTIFACTS_BUCKET'] = 'b-1'; import functions.worker_charts.main;"
        "print([name for name in ('PIL', 'requests', 'google.cloud.storage') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"

"""A process with a wrong setting refuses to start, and says which one without saying what it was."""

import pytest

from flowcore.config import VARIABLES, Config, InvalidConfig
from flowcore.domain.budget import TimeBudget

GOOD = {"ARTIFACTS_BUCKET": "my-artifacts"}


def test_defaults_are_those_of_the_library() -> None:
    config = Config.from_env(GOOD)
    assert config.artifacts_bucket == "my-artifacts"
    assert config.flow_runs_collection == "flow_runs"
    assert config.budget == TimeBudget(780, 600, 120)
    assert config.log_level == "INFO"


def test_every_variable_is_read() -> None:
    config = Config.from_env(
        {
            "ARTIFACTS_BUCKET": "b.example-1_x",
            "FLOW_RUNS_COLLECTION": "runs_eu",
            "INVOCATION_TIMEOUT_SECONDS": "540",
            "GEMINI_TIMEOUT_SECONDS": " 400.5 ",
            "FINALIZE_BUDGET_SECONDS": "120",
            "LOG_LEVEL": "warning",
        }
    )
    assert config.artifacts_bucket == "b.example-1_x"
    assert config.flow_runs_collection == "runs_eu"
    assert config.budget == TimeBudget(540, 400.5, 120)
    assert config.log_level == "WARNING"


def test_the_artifacts_own_bucket_may_always_be_read() -> None:
    assert Config.from_env(GOOD).readable_buckets == {"my-artifacts"}
    named = Config.from_env({**GOOD, "READABLE_BUCKETS": " archive,, uploads.example "})
    assert named.readable_buckets == {"my-artifacts", "archive", "uploads.example"}


@pytest.mark.parametrize("value", ["", "   "])
def test_empty_is_as_good_as_absent(value: str) -> None:
    config = Config.from_env({**GOOD, "FLOW_RUNS_COLLECTION": value, "GEMINI_TIMEOUT_SECONDS": value})
    assert config == Config.from_env(GOOD)


@pytest.mark.parametrize("environ", [{}, {"ARTIFACTS_BUCKET": ""}, {"ARTIFACTS_BUCKET": " "}])
def test_missing_bucket_is_named(environ: dict[str, str]) -> None:  # F17
    with pytest.raises(InvalidConfig, match="ARTIFACTS_BUCKET is not set"):
        Config.from_env(environ)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ARTIFACTS_BUCKET", "gs://hunter2"),
        ("ARTIFACTS_BUCKET", "Hunter2"),
        ("ARTIFACTS_BUCKET", "h"),
        ("ARTIFACTS_BUCKET", "hunter2/x"),
        ("ARTIFACTS_BUCKET", "hunter2\nx"),
        ("READABLE_BUCKETS", "*hunter2"),
        ("READABLE_BUCKETS", "archive, gs://hunter2"),
        ("READABLE_BUCKETS", "archive hunter2"),
        ("FLOW_RUNS_COLLECTION", "hunter2/x"),
        ("FLOW_RUNS_COLLECTION", "hunter2.x"),
        ("FLOW_RUNS_COLLECTION", "__hunter2__"),
        ("INVOCATION_TIMEOUT_SECONDS", "hunter2"),
        ("INVOCATION_TIMEOUT_SECONDS", "0"),
        ("INVOCATION_TIMEOUT_SECONDS", "-780"),
        ("INVOCATION_TIMEOUT_SECONDS", "nan"),
        ("GEMINI_TIMEOUT_SECONDS", "inf"),
        ("GEMINI_TIMEOUT_SECONDS", "1e999"),
        ("FINALIZE_BUDGET_SECONDS", "120s"),
        ("FINALIZE_BUDGET_SECONDS", "0x10"),
        ("LOG_LEVEL", "hunter2"),
        ("LOG_LEVEL", "TRACE"),
    ],
)
def test_bad_value_is_named_by_its_variable_and_never_shown(name: str, value: str) -> None:  # F17
    with pytest.raises(InvalidConfig) as refusal:
        Config.from_env({**GOOD, name: value})
    message = str(refusal.value)
    assert message.startswith(name)
    assert value not in message.removeprefix(name) or len(value) < 2
    assert refusal.value.__cause__ is None
    assert refusal.value.__suppress_context__ or refusal.value.__context__ is None


def test_times_that_do_not_fit_together_are_all_named() -> None:  # F17
    environ = {**GOOD, "GEMINI_TIMEOUT_SECONDS": "661.25", "FINALIZE_BUDGET_SECONDS": "120"}
    with pytest.raises(InvalidConfig) as refusal:
        Config.from_env(environ)
    message = str(refusal.value)
    assert "661.25" not in message
    for name in ("GEMINI_TIMEOUT_SECONDS", "FINALIZE_BUDGET_SECONDS", "INVOCATION_TIMEOUT_SECONDS"):
        assert name in message


def test_times_that_fit_exactly_are_fine() -> None:
    assert Config.from_env({**GOOD, "GEMINI_TIMEOUT_SECONDS": "660"}).budget.problem() is None


def test_variables_of_others_are_none_of_our_business() -> None:
    assert Config.from_env({**GOOD, "PATH": "/bin", "GEMINI_API_KEY": "x"}) == Config.from_env(GOOD)


@pytest.mark.parametrize("name", VARIABLES)
def test_every_variable_is_explained(name: str) -> None:
    assert name.isupper()
    assert len(VARIABLES[name]) > 10

"""Docs that cannot rot: what they claim is compared with the code, both ways, and every link leads somewhere.

The second half turns each check on a small sample that lies: a check that cannot fail is no check.
"""

from collections.abc import Iterable
from pathlib import Path

import pytest

from flowcore.config import VARIABLES
from flowcore.domain.errors import REGISTRY
from tests.chaos.batteries import BATTERIES
from tests.reading.claims import (
    acceptance_complaints,
    documents,
    error_complaints,
    event_complaints,
    has_release,
    link_complaints,
    make_complaints,
    promise_complaints,
    variable_complaints,
    vector_complaints,
)
from tests.reading.markdown import anchors
from tests.reading.sources import ROOT

# The cases of spec/vectors/README.md that have a number of their own; each is told as at least one vector.
CASES = [
    *(f"A{number}" for number in range(1, 23)),
    *(f"B{number}" for number in range(1, 25)),
    *(f"F{number}" for number in (*range(1, 7), 16)),
]


# What the functions must do, seen from outside, by section: orchestrator, claims, candles, charts, reports, recovery.
ROWS = [
    *(f"A{number}" for number in range(1, 23)),
    *(f"B{number}" for number in range(1, 25)),
    *(f"C{number}" for number in range(1, 16)),
    *(f"D{number}" for number in range(1, 32)),
    *(f"E{number}" for number in range(1, 41)),
    *(f"F{number}" for number in (*range(1, 7), 15, 16, 17)),
]


def read(name: str) -> str:
    path = ROOT / name
    return path.read_text() if path.exists() else pytest.fail(f"{name} is missing: write it", pytrace=False)


def expect_none(complaints: Iterable[str]) -> None:
    if found := list(complaints):
        pytest.fail("\n".join(found), pytrace=False)


# --- the claims ------------------------------------------------------------------------------------------


def test_error_codes_are_those_of_the_registry() -> None:
    truth = {str(key): (str(entry.kind), str(entry.http_status)) for key, entry in REGISTRY.items()}
    expect_none(error_complaints(read("spec/errors.md"), truth))


def test_log_events_are_those_that_the_code_writes() -> None:
    expect_none(event_complaints(read("spec/logging.md"), ROOT / "flowcore", ROOT / "functions"))


def test_every_promise_has_a_battery_that_would_break_it() -> None:
    expect_none(promise_complaints(read("spec/guarantees.md"), [battery.name for battery in BATTERIES]))


def test_variables_are_those_that_config_reads() -> None:
    expect_none(variable_complaints(read("README.md"), VARIABLES))


def test_make_targets_are_told_and_exist() -> None:
    expect_none(make_complaints(read("Makefile"), documents(ROOT)))


def test_links_lead_somewhere() -> None:
    expect_none(link_complaints(ROOT))


def test_changelog_tells_what_is_new() -> None:
    assert has_release(read("CHANGELOG.md")), "CHANGELOG.md: add `## [Unreleased]` with what this change brings"


def test_every_case_has_a_vector() -> None:
    folders = [path.name for path in (ROOT / "spec/vectors").glob("*") if path.is_dir()]
    expect_none(vector_complaints(folders, CASES))


def test_every_acceptance_row_is_shown_by_a_test() -> None:
    texts = [
        path.read_text() for folder in ("functions", "ports") for path in (ROOT / "tests" / folder).rglob("test_*.py")
    ]
    expect_none(acceptance_complaints(texts, ROWS))


# --- sabotage: each check complains when it should -------------------------------------------------------

ERRORS = """
| Code | class | HTTP | words |
|---|---|---|---|
| `LATE` | `retryable` | 503 | Too late. |
"""


def test_error_table_that_tells_the_truth_passes() -> None:
    assert not list(error_complaints(ERRORS, {"LATE": ("retryable", "503")}))


@pytest.mark.parametrize(
    ("truth", "complaint"),
    [
        ({"LATE": ("retryable", "503"), "LOST": ("benign", "409")}, "`LOST` is missing"),
        ({}, "`LATE` is told"),
        ({"LATE": ("benign", "503")}, "`LATE` is ['retryable', '503']"),
        ({"LATE": ("retryable", "504")}, "the registry has ['retryable', '504']"),
    ],
    ids=["missing", "left over", "other class", "other status"],
)
def test_error_table_that_lies_is_noticed(truth: dict[str, tuple[str, str]], complaint: str) -> None:
    (found,) = error_complaints(ERRORS, truth)
    assert complaint in found


EVENTS = """
| event | level |
|---|---|
| `step_claimed` | info |

| field | what it holds |
|---|---|
| `run_id` | not an event |
"""


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("log.info('step_claimed', run_id=1)", None),
        ("self._log.error('step_claimed')", None),
        ("log.info('step_claimed'); ctx.log.warning('step_lost')", "`step_lost` is missing"),
        ("other.info('step_claimed')", "`step_claimed` is told"),
        ("log.info('step_claimed'); log.info(event)", "flow/x.py:1: write the event"),
    ],
)
def test_event_table_that_lies_is_noticed(tmp_path: Path, line: str, complaint: str | None) -> None:
    package = tmp_path / "flow"
    package.mkdir()
    (package / "x.py").write_text(line)
    found = "\n".join(event_complaints(EVENTS, package))
    assert complaint in found if complaint else not found


README = """
# Sample
## Configuration
| variable | what for |
|---|---|
| `BUCKET` | artifacts |
### More of it
| variable | what for |
|---|---|
| `TTL` | leases |
## Elsewhere
| `OTHER` | is not meant |
|---|---|
| `THING` | neither |
"""


def test_variable_table_that_lies_is_noticed() -> None:
    assert not list(variable_complaints(README, ("BUCKET", "TTL")))
    missing, left_over = variable_complaints(README, ("BUCKET", "SPEED"))
    assert "`SPEED` is missing" in missing
    assert "`TTL` is told" in left_over


MAKEFILE = """
X := 1
test: lint ## run all
lint:
"""


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("Run `make test`, then make coffee.", None),
        ("```sh\n$ make lint test PY=3  # all\n```", None),
        ("    make test", None),
        ("`make test` or `make tea`", "README.md: the Makefile has no target tea"),
        ("`make lint`", "say what `make test` is for"),
    ],
)
def test_make_target_that_is_not_so_is_noticed(text: str, complaint: str | None) -> None:
    found = "\n".join(make_complaints(MAKEFILE, {"README.md": text}))
    assert complaint in found if complaint else not found


@pytest.mark.parametrize(
    ("link", "complaint"),
    [
        ("[ok](docs/b.md#a-b-c-x_y)", None),
        ("[ok](#top) [ok](docs/) [ok](https://example.org/x#y) `[no link](gone.md)`", None),
        ("[ok]: docs/b.md 'with a title'", None),
        ("[bad](docs/gone.md)", "docs/gone.md leads nowhere: no such file"),
        ("[bad](docs/b.md#gone)", "no such heading"),
        ("[bad](#gone)", "no such heading"),
        ("![bad](../../x.png)", "it leaves the repository"),
        ("[bad]: gone.md", "no such file"),
    ],
)
def test_link_that_leads_nowhere_is_noticed(tmp_path: Path, link: str, complaint: str | None) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/b.md").write_text("# A, B & [C](x): `x_y`\n".replace("[C](x)", "C").replace(" &", ""))
    (tmp_path / "a.md").write_text(f"# Top\n\n{link}\n")
    found = "\n".join(link_complaints(tmp_path))
    assert complaint in found if complaint else not found


PROMISES = """
| promise | proven by |
|---|---|
| It holds. | vectors; `twins: storms` |
"""


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (PROMISES, None),
        (PROMISES + "| It is so. | `plan` |\n", "name the battery that proves: It is so."),
        (PROMISES + "| It is so. | `wire: storms` |\n", "`wire: storms` is told"),
        (PROMISES.replace("twins", "wire").replace("wire: storms", "noise"), "name the battery"),
    ],
)
def test_promise_that_nothing_proves_is_noticed(text: str, complaint: str | None) -> None:
    found = "\n".join(promise_complaints(text, ["twins: storms"]))
    assert complaint in found if complaint else not found


def test_headings_are_named_as_github_names_them() -> None:
    text = "# Run → Patch\n## It's `a_b`, [see](x.md)!\n## Twice\n## Twice\n```sh\n# no heading\n```\n"
    assert anchors(text) == {"run--patch", "its-a_b-see", "twice", "twice-1"}


@pytest.mark.parametrize("heading", ["## [Unreleased]", "## Unreleased", "## [1.2.3] - 2025-12-24"])
def test_changelog_heading_is_recognised(heading: str) -> None:
    assert has_release(f"# Changelog\n\n{heading}\n")
    assert not has_release(f"# Changelog\n\n#{heading}\n")


def test_case_without_a_vector_is_noticed() -> None:
    folders = ["A1-first-step", "b2_race", "a10-cancel"]
    assert not list(vector_complaints(folders, ["A1", "B2", "A10"]))
    (found,) = vector_complaints(folders, ["A1", "B1"])
    assert "B1" in found


MARKED = """
@pytest.mark.acceptance("A1", "B2")
def test_it() -> None: ...
"""


@pytest.mark.parametrize(("rows", "said"), [(["A1", "B2"], None), (["A1", "A2"], 'A2: mark one with acceptance("A2")')])
def test_row_without_a_test_is_noticed(rows: list[str], said: str | None) -> None:
    found = list(acceptance_complaints([MARKED], rows))
    assert (said is None and not found) or (said is not None and said in found[0])

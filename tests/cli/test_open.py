"""`flow open`: a page with everything beside it, or one artifact."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from flowcore.cli.saving import artifact_of
from flowcore.cli.world import World
from flowcore.testing.builders import CHARTS, OHLCV, RUN_ID, a_run, a_step, parsed
from tests.cli.conftest import Desk
from tests.cli.program import FLOW
from tests.cli.typing_it import typed

NAME = f"runs/{RUN_ID}/ohlcv/1M.json"


@pytest.fixture
def finished(desk: Desk) -> Desk:
    bucket = desk.storage.create_bucket("artifacts")
    bucket.blob(NAME).upload_from_string(b'{"candles": []}')
    outputs = {"gcs_uri": f"gs://artifacts/{NAME}"}
    desk.put(a_run(steps={OHLCV: a_step("OHLCV_EXPORT", "SUCCEEDED", outputs=outputs), CHARTS: a_step("CHART_EXPORT")}))
    return desk


def test_the_page_has_its_artifacts_beside_it(finished: Desk) -> None:
    said = typed("open", RUN_ID, "--no-browser", "--output", "pages")
    assert (said.code, said.err) == (0, "")
    page = finished.folder / "pages" / RUN_ID / f"{RUN_ID}.html"
    assert said.out.splitlines()[-1] == page.as_uri()
    assert f'href="artifacts/{NAME}"' in page.read_text()
    assert (page.parent / "artifacts" / NAME).read_bytes() == b'{"candles": []}'


def test_an_artifact_that_is_gone_does_not_cost_the_page(finished: Desk) -> None:
    finished.storage.bucket("artifacts").blob(NAME).delete()
    assert typed("open", RUN_ID, "--no-browser").code == 0
    assert (finished.folder / "build" / "runs" / RUN_ID / f"{RUN_ID}.html").exists()


def test_one_steps_artifact(finished: Desk) -> None:
    said = typed("open", RUN_ID, OHLCV, "--json")
    place = Path(said.data["url"].removeprefix("file://"))
    assert json.loads(place.read_text()) == {"candles": []}


def test_a_step_without_an_artifact_says_how_it_stands(finished: Desk) -> None:
    said = typed("open", RUN_ID, CHARTS, "--no-browser")
    assert said.code == 3
    assert f"{CHARTS} is PENDING and has no artifact" in said.complaint


def test_a_name_that_leads_elsewhere_is_not_followed(finished: Desk) -> None:
    finished.storage.bucket("artifacts").blob("a/../../../../evil").upload_from_string(b"x")
    evil = {"gcs_uri": "gs://artifacts/a/../../../../evil"}
    finished.put(a_run(steps={OHLCV: a_step("OHLCV_EXPORT", "SUCCEEDED", outputs=evil)}))
    said = typed("open", RUN_ID, OHLCV, "--no-browser")
    assert said.code == 4
    assert "leads elsewhere" in said.complaint
    assert typed("open", RUN_ID, "--no-browser").code == 0
    assert not list(finished.folder.rglob("evil"))


def test_in_the_cloud_it_is_the_consoles_page(tmp_path: Path) -> None:
    run = parsed(a_run(ohlcv="SUCCEEDED"))
    cloud = World("my-project", "(default)", None, local=False)
    address = artifact_of(cloud, run, OHLCV, tmp_path)
    assert (
        address == "https://console.cloud.google.com/storage/browser/_details/artifacts/some/object?project=my-project"
    )


def test_a_browser_is_shown_the_page(finished: Desk) -> None:
    note = "import pathlib, sys; pathlib.Path('shown').write_text(sys.argv[1])"
    (finished.folder / "browser.py").write_text(note)
    browser = {**os.environ, "BROWSER": f"{sys.executable} browser.py %s"}
    command = [*FLOW, "open", RUN_ID]
    subprocess.run(command, cwd=finished.folder, env=browser, check=True, capture_output=True, timeout=60)
    assert (finished.folder / "shown").read_text().endswith(f"{RUN_ID}.html")

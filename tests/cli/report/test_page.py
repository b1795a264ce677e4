"""What stands on the page of a run that is finished, failed, under way, broken, or has lost its objects."""

import base64
import hashlib
import json
import re
from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from flowcore.cli.report import render
from flowcore.cli.report.charts import LARGEST
from flowcore.domain.errors import REGISTRY, Code, DataNotFoundError
from tests.cli.report.reading import Page
from tests.cli.report.sample import (
    BUCKET,
    CHARTS,
    CONCLUSION,
    NOW,
    PICTURE,
    RUN_ID,
    T0,
    TEMPLATES,
    Sample,
    console,
    failed,
    under_way,
)

OHLCV = "ohlcv_1M_bigquery_all_v1"


def page_of(sample: Sample, **options: Any) -> Page:
    return Page(render(sample.run, sample.read, **{"now": NOW, "link": console, **options}))


# --- a finished run ---------------------------------------------------------------------------------------


def test_the_head_names_flow_symbol_status_times_and_run() -> None:
    page = page_of(Sample())
    assert page.all("h1")[0].text == "BTCUSDT"
    assert page.all("title")[0].text == "BTCUSDT · market_report_v1 · Succeeded"
    for said in ("✓ Succeeded", "Started 2025-12-24 12:00:00 UTC", "Took 9.3 s", f"Run {RUN_ID}", "7 of 7 succeeded"):
        assert said in page.text


def test_the_page_says_where_numbers_and_words_come_from() -> None:
    text = page_of(Sample(), provenance="generated bars", stand_in=True).text
    assert "Numbers generated bars" in text
    assert "176 of 1M, 2011-05-01 to 2025-11-01" in text
    assert "the local stand-in for Gemini" in text


def test_without_a_word_about_the_numbers_the_page_says_that_and_names_no_stand_in() -> None:
    text = page_of(Sample()).text
    assert "Numbers where they come from is not recorded" in text
    assert "stand-in" not in text


def test_the_conclusion_is_read_before_the_reports_that_it_rests_on() -> None:
    headings = [element.text for element in page_of(Sample()).all("h3")]
    assert headings[:3] == [
        f"Conclusion from 2 reports {CONCLUSION}",
        "Monthly (1M) report llm_report_1M_review_v1",
        "Weekly (1w) report llm_report_1w_review_v1",
    ]


def test_the_summary_is_rendered_and_its_headings_continue_those_of_the_page() -> None:
    page = page_of(Sample())
    assert "BTCUSDT holds its range" in [element.text for element in page.all("h4")]
    assert "above" in [element.text for element in page.all("strong")]
    levels = [int(element.tag[1]) for element in page.elements if re.fullmatch("h[1-6]", element.tag)]
    assert all(after <= before + 1 for before, after in pairwise(levels)), levels


def test_details_become_terms_tables_and_lists() -> None:
    page = page_of(Sample())
    assert "Volatility percent 7.4" in page.text
    assert "Watched prices 84,100 91,250.25 97,432.5" in page.text
    assert [cell.text for cell in page.all("th") if cell.text in ("Price", "Kind", "Note")][-3:] == [
        "Price",
        "Kind",
        "Note",
    ]
    assert "Thin holiday trading." in [element.text for element in page.all("li")]


def test_charts_are_inside_the_page_at_their_own_size_and_described() -> None:
    images = [element.attributes for element in page_of(Sample()).all("img")]
    assert len(images) == 2 * len(TEMPLATES)
    for image in images:
        assert base64.b64decode(image["src"].removeprefix("data:image/png;base64,")) == PICTURE
        assert (image["width"], image["height"]) == ("1200", "800")
    assert images[0]["alt"] == "Chart of BTCUSDT, Monthly (1M): Price, moving averages, volume"
    assert len({image["alt"] for image in images}) == len(images)


def test_every_object_of_the_run_is_named_and_linked() -> None:
    sample = Sample()
    page = page_of(sample)
    links = {element.text: element.attributes["href"] for element in page.all("a")}
    for uri in sample.objects:
        assert links[uri] == console(uri)


def test_without_links_the_addresses_are_still_there_to_be_copied() -> None:
    sample = Sample()
    page = page_of(sample, link=lambda _: None)
    assert not page.targets
    assert all(uri in page.text for uri in sample.objects)


def test_what_the_model_took_is_told() -> None:
    rows = [" ".join(row.text.split()) for row in page_of(Sample()).all("tr")]
    assert f"{CONCLUSION} gemini-3.8-flash-001 STOP 6,120 512 – 6,632 1" in rows


def test_a_result_that_was_found_is_marked_as_reused() -> None:
    sample = Sample()
    assert "reused" not in page_of(sample).text
    sample.steps[OHLCV]["outputs"]["execution"]["reused"] = True
    assert page_of(sample).text.count("reused: found, not made again") == 1


# --- a run that failed, or goes on ------------------------------------------------------------------------


def test_a_failure_is_told_in_words_first_thing_on_the_page() -> None:
    page = page_of(failed())
    words = REGISTRY[Code.CHART_API_FAILED].words
    assert page.text.index("What went wrong") < page.text.index(words) < page.text.index("Timeline waiting")
    assert f"{words} chart-img refused the API key (401) for 2 of 2 charts CHART_API_FAILED" in page.text
    assert "✕ Failed" in page.text


def test_earlier_attempts_and_their_evidence_stay_visible() -> None:
    page = page_of(failed())
    assert "Attempt 1: The chart service failed. chart-img answered 503 for 2 of 2 charts" in page.text
    assert f"manifest of attempt 1 {BUCKET}/charts/{RUN_ID}/{CHARTS.format('1w')}/manifest.attempt-1.json" in page.text
    assert "2 (2 failed)" in page.text
    label = next(
        element.attributes["aria-label"]
        for element in page.all("svg")
        if element.attributes.get("aria-label", "").startswith(CHARTS.format("1w"))
    )
    assert label == f"{CHARTS.format('1w')}: attempt 1: 1.7 s, failed, waited 7.3 s, attempt 2: 1.3 s, failed, failed"


def test_a_skipped_step_names_what_it_needed_and_has_no_report() -> None:
    text = page_of(failed()).text
    assert f"{REGISTRY[Code.DEPENDENCY_NOT_SUCCEEDED].words} needs '{CHARTS.format('1w')}', which is FAILED" in text
    assert "There is no report: its step is skipped." in text


def test_what_can_be_read_comes_before_what_is_missing() -> None:
    headings = [element.text for element in page_of(failed()).all("h3")]
    assert headings[0] == "Monthly (1M) report llm_report_1M_review_v1"


def test_a_code_from_a_newer_version_is_shown_as_it_is() -> None:
    sample = failed()
    sample.steps[CHARTS.format("1w")]["error"] = {"code": "FROM_THE_FUTURE", "message": "what it said"}
    assert "An error that this version has no words for. what it said FROM_THE_FUTURE" in page_of(sample).text


def test_a_run_under_way_says_so_and_its_bars_end_now() -> None:
    now = T0 + timedelta(seconds=7)
    page = page_of(under_way(), now=now)
    assert "▸ Running" in page.text
    assert "Running for 7.0 s" in page.text
    assert "not finished when the page was made, at 2025-12-24 12:00:07 UTC" in page.text
    running = next(element for element in page.all("rect") if element.attributes["class"] == "running")
    assert float(running.attributes["x"][:-1]) + float(running.attributes["width"][:-1]) == pytest.approx(100, abs=0.01)


def test_a_finished_run_does_not_grow_with_the_time_of_the_page() -> None:
    sample = failed()
    sample.steps[CHARTS.format("1M")].update(status="RUNNING", finishedAt=None)
    early, late = (page_of(sample, now=NOW + wait) for wait in (timedelta(0), timedelta(days=400)))
    assert [each.attributes for each in early.all("rect")] == [each.attributes for each in late.all("rect")]


# --- documents of all kinds -------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [Sample, failed, under_way])
def test_the_page_is_accessible_html(make: Callable[[], Sample]) -> None:
    page = page_of(make())
    assert [len(page.all(tag)) for tag in ("main", "nav", "footer", "h1")] == [1, 1, 1, 1]
    assert page.all("html")[0].attributes["lang"] == "en"
    assert all(image.attributes["alt"] for image in page.all("img"))
    assert all(header.attributes.get("scope") for header in page.all("th") if "article" not in header.inside)
    assert all(svg.attributes.get("aria-label") for svg in page.all("svg") if svg.attributes.get("role") == "img")
    places = {element.attributes["id"] for element in page.elements if "id" in element.attributes}
    named = [element.attributes.get("aria-labelledby") for element in page.elements]
    jumps = [element.attributes["href"][1:] for element in page.all("a") if element.attributes["href"][0] == "#"]
    assert {name for name in [*named, *jumps] if name} <= places


@pytest.mark.parametrize(
    ("spoiled", "said"),
    [
        ({"steps": "none"}, "steps: must be a map with at least one step"),
        ({"steps": {}}, "steps: must be a map with at least one step"),
        ({"status": "GREAT"}, "status: 'GREAT' is not a status"),
        ({"steps": {"a": {"stepType": "X", "status": "PENDING", "dependsOn": ["b"]}}}, "'b' is not a step of this run"),
        ({"steps": {"a": {"stepType": "X", "status": "PENDING", "dependsOn": ["a"]}}}, "goes in a circle: a → a"),
        ({"steps": {"a": 7}}, "steps.a: must be a map"),
        ({"runId": "no/id"}, "is not a run id"),
    ],
)
def test_a_broken_document_still_has_a_page_that_says_what_is_broken(spoiled: dict[str, Any], said: str) -> None:
    sample = Sample()
    sample.run.update(spoiled)
    assert said in page_of(sample).text


def test_a_document_of_almost_nothing_has_a_page() -> None:
    page = Page(render({}, Sample().read, now=NOW))
    assert "a flow without a name" in page.text


def test_an_old_document_is_read_by_its_id_and_its_workers_times() -> None:
    sample = Sample()
    del sample.run["runId"]
    for step in sample.steps.values():
        for newer in ("readyAt", "startedAt", "finishedAt"):
            del step[newer]
    page = page_of(sample, run_id=RUN_ID)
    assert "7 of 7 succeeded" in page.text
    assert len(page.all("rect")) == 7
    assert "✓ Succeeded 2.6 s" in page.text


# --- objects that are missing, or not what they should be ---------------------------------------------------


def test_any_one_missing_object_leaves_a_gap_and_nothing_else() -> None:
    whole = Sample()
    shown = [uri for uri in whole.objects if "/ohlcv/" not in uri]  # candles are told from the document alone
    assert len(shown) == 9
    for uri in shown:
        sample = Sample()
        del sample.objects[uri]
        page = page_of(sample)
        assert page.text.count("it could not be read (KeyError)") == 1, uri
        assert len(page.all("svg")) == 8


def test_with_no_object_at_all_the_times_and_steps_are_still_there() -> None:
    sample = Sample()
    sample.objects.clear()
    page = page_of(sample)
    assert not page.all("img")
    assert page.text.count("cannot be shown") == 5
    assert page.text.count("✓ Succeeded") == 1 + 2 * 7


def test_a_refusal_of_the_store_is_told_in_its_own_words() -> None:
    def forbidden(uri: str) -> bytes:
        raise DataNotFoundError(Code.GCS_READ_FAILED, f"{uri} is not for your eyes")

    page = Page(render(Sample().run, forbidden, now=NOW))
    assert "is not for your eyes" in page.text


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"garbage",
        b"null",
        b"[]",
        b"{}",
        b"\xff\xfe",
        b'{"output": []}',
        b'{"output": {"summary": 7}}',
        b'{"output": {"summary": {"markdown": ["a"]}, "details": [[[1]]]}}',
        b"[" * 100_000,
    ],
    ids=lambda content: repr(content[:30]),
)
def test_objects_that_are_something_else_break_nothing(content: bytes) -> None:
    sample = Sample()
    sample.objects = dict.fromkeys(sample.objects, content)
    page = page_of(sample)
    assert not page.all("img")
    assert len(page.all("svg")) == 8


@pytest.mark.parametrize(
    "content",
    [b"", b"<svg onload=alert(1)>", PICTURE[:20], PICTURE[:8] + b"\0" * 40, b"GIF89a!!" + PICTURE[8:]],
    ids=["nothing", "svg", "cut off", "no header", "another signature"],
)
def test_only_a_png_is_embedded(content: bytes) -> None:
    sample = Sample()
    sample.objects |= {uri: content for uri in sample.objects if uri.endswith(".png")}
    page = page_of(sample)
    assert not page.all("img")
    assert page.text.count("The picture cannot be shown: it is no PNG.") == 2 * len(TEMPLATES)


def test_a_picture_too_large_for_the_page_is_linked_and_not_embedded() -> None:
    sample = Sample()
    uri = next(uri for uri in sample.objects if uri.endswith(".png"))
    sample.objects[uri] = PICTURE + b"\0" * LARGEST
    page = page_of(sample)
    assert len(page.all("img")) == 2 * len(TEMPLATES) - 1
    assert "it is too large for this page" in page.text
    assert console(uri) in page.targets


def test_a_chart_that_was_not_drawn_is_mentioned_with_the_reason() -> None:
    sample = Sample()
    uri = sample.steps[CHARTS.format("1M")]["outputs"]["gcs_uri"]
    manifest = json.loads(sample.objects[uri])
    error = {"code": "CHART_API_FAILED", "message": "503 three times"}
    manifest["failures"] = [{"request": {"chartTemplateId": "ctpl_lost_v1"}, "error": error}]
    sample.put_json(uri, manifest)
    assert "Not drawn. The chart service failed. 503 three times ctpl_lost_v1" in page_of(sample).text


# --- the file itself --------------------------------------------------------------------------------------


def test_the_same_run_makes_the_same_page_whatever_the_order_of_its_fields() -> None:
    sample, other = failed(), failed()
    other.run = json.loads(json.dumps(other.run, sort_keys=True))
    other.run["steps"] = dict(reversed(other.steps.items()))
    assert render(sample.run, sample.read, now=NOW) == render(other.run, other.read, now=NOW)


def test_the_page_is_hardly_larger_than_its_pictures() -> None:
    pictures = 2 * len(TEMPLATES) * len(base64.b64encode(PICTURE))
    assert len(page_of(Sample()).html) < pictures + 60_000


def test_the_policy_allows_this_style_sheet_and_pictures_as_data_and_nothing_else() -> None:
    page = page_of(Sample())
    policy = next(meta.attributes["content"] for meta in page.all("meta") if "http-equiv" in meta.attributes)
    (style,) = page.all("style")
    digest = base64.b64encode(hashlib.sha256(style.text.encode()).digest()).decode()
    allowed = f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert policy == allowed
    assert "style" not in {name for element in page.elements for name in element.attributes}
    assert not re.search(r"url\(|@import|expression", style.text)

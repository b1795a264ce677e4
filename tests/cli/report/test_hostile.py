"""Half of the page was written by a model, the rest by whoever filled a document: none of it may become more than text.

Text that changes the skeleton of the page (which elements there are, with which attributes) has escaped.
"""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowcore.cli.report import render
from flowcore.domain.model import is_name
from tests.cli.report.reading import Page
from tests.cli.report.sample import BUCKET, CHARTS, CONCLUSION, MARKDOWN, NOW, Sample, console, failed

PAYLOADS = [
    "<script>alert(1)</script>",
    "</style><script>alert(1)</script>",
    "</title><img src=x onerror=alert(1)>",
    "<img src=https://evil.example/pixel.png onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "' onmouseover='alert(1)",
    '" autofocus onfocus="alert(1)',
    "<iframe src=javascript:alert(1)></iframe>",
    "[click](javascript:alert(1))",
    "[click](JaVaScRiPt:alert(1))",
    "[click](java\tscript:alert(1))",
    "[click](&#106;avascript:alert(1))",
    "[click](data:text/html;base64,PHNjcmlwdD4=)",
    "[click](vbscript:x)",
    "![pixel](https://evil.example/pixel.png)",
    "![x](x 'onerror=alert(1)')",
    "<https://evil.example>",
    "[a]: https://evil.example\n\n[a]",
    "![a][b]\n\n[b]: https://evil.example/x.png",
    "<style>@import 'https://evil.example/x.css';</style>",
    "<link rel=stylesheet href=https://evil.example/x.css>",
    "<base href=https://evil.example>",
    "<meta http-equiv=refresh content='0;url=https://evil.example'>",
    "<form action=https://evil.example><input></form>",
    "<math><mi//xlink:href='data:x,<script>alert(1)</script>'>",
    "<svg><animate onbegin=alert(1) attributeName=x>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "<!--<img src='--><img src=x onerror=alert(1)>'>",
    "]]><script>alert(1)</script>",
    "{{ 7 * 7 }}{% include '/etc/passwd' %}{{ self }}",
    "javascript:alert(1)",
    "//evil.example/x",
    "\\u003cscript\\u003e",
    "\x00\x01\x1b<b>\ud800",
    "\u202egnitirw\u202c",
    "&lt;script&gt;&amp;#60;",
    "```html\n<script>alert(1)</script>\n```",
    "| a |\n|---|\n| <script>alert(1)</script> |",
]
TEXT = {"p", "br", "hr", "strong", "em", "s", "code", "pre", "blockquote", "ul", "ol", "li", "span", "h4", "h5", "h6"}
TABLES = {"div", "table", "thead", "tbody", "tr", "th", "td"}
OURS = {"h3", "dl", "dt", "dd"}


def filled_with(text: str) -> tuple[Sample, dict[str, Any]]:
    """A failed run that says this wherever a text may stand, the Markdown aside."""
    sample = failed()
    run, charts = sample.run, sample.steps[CHARTS.format("1w")]
    run["scope"] = {"symbol": text}
    run["flowKey"] = text
    run["trigger"] = {"type": text, "source": text}
    run["error"] = {"code": text, "message": text, "details": {text: text}}
    charts["error"] = {"code": text, "message": text}
    charts["attempts"][0]["error"] = {"code": text, "message": text}
    charts["attempts"][0]["outputs"] = {"evidence": f"{BUCKET}/{text}"}
    monthly, report = sample.steps[CHARTS.format("1M")], sample.steps["llm_report_1M_review_v1"]
    monthly["outputs"]["elsewhere"] = [f"gs://{text}"]
    monthly["stepType"] = monthly["timeframe"] = f"T{text}"
    report["timeframe"] = f"T{text}"
    report["outputs"]["execution"]["llm"] = {"modelVersion": text, "finishReason": text}
    sample.steps["ohlcv_1M_bigquery_all_v1"]["outputs"]["candles"] = {"count": 1, "first": text, "last": text}
    details = {"k" + text: text, "rows": [{"c" + text: text}], "deep": {"a": {"b": {"c": {"d": {"e": {text: text}}}}}}}
    report["outputs"]["gcs_uri"] = sample.put_report("llm_report_1M_review_v1", "x", details)
    manifest = json.loads(sample.objects[monthly["outputs"]["gcs_uri"]])
    manifest.update(symbol=text, timeframe=text)
    manifest["items"][0].update(chartTemplateId=text, kind=text)
    manifest["failures"] = [{"request": {"chartTemplateId": text}, "error": {"code": text, "message": text}}]
    sample.put_json(monthly["outputs"]["gcs_uri"], manifest)
    return sample, {"provenance": text}


def skeleton_with(text: str) -> list[tuple[str, tuple[str, ...]]]:
    sample, options = filled_with(text)
    html = render(sample.run, sample.read, now=NOW, **options)
    html.encode()
    page = Page(html)
    assert not page.targets
    return page.skeleton


HARMLESS = skeleton_with("harmless")


@pytest.mark.parametrize("payload", PAYLOADS)
def test_a_payload_in_every_field_changes_nothing_but_words(payload: str) -> None:
    assert skeleton_with(payload) == HARMLESS


@given(st.text(min_size=1).filter(str.strip))
@settings(max_examples=60, deadline=None)
def test_any_text_in_every_field_changes_nothing_but_words(text: str) -> None:
    assert skeleton_with(text) == HARMLESS


def test_the_harmless_page_shows_every_field_so_the_comparison_means_something() -> None:
    sample, options = filled_with("zyxw<b>")
    assert Page(render(sample.run, sample.read, now=NOW, **options)).text.count("zyxw<b>") > 25


def hostile_report(markdown: str) -> Page:
    sample = Sample()
    sample.run["steps"] = {CONCLUSION: {**sample.steps[CONCLUSION], "dependsOn": []}}  # a small page is soon read
    sample.put_report(CONCLUSION, markdown, {"trend": "up"})
    return Page(render(sample.run, sample.read, now=NOW))


def prose_is_harmless(page: Page) -> None:
    prose = [element for element in page.elements if "article" in element.inside]
    assert prose
    inside = [element for element in prose if element.attributes.get("class") not in ("prose", "details")]
    assert {element.tag for element in inside} <= TEXT | TABLES | OURS
    assert {name for element in inside for name in element.attributes} <= {"class", "scope", "start"}
    classes = {name for element in inside for name in element.attributes.get("class", "").split()}
    assert classes <= {"address", "scroll", "right", "center", "terms", "missing", "id"}
    assert not page.targets


@pytest.mark.parametrize("payload", PAYLOADS)
def test_a_payload_in_the_markdown_never_becomes_a_link_a_picture_or_a_script(payload: str) -> None:
    for markdown in (payload, f"# {payload}", f"- {payload}", f"> **{payload}**", f"[{payload}]({payload})"):
        prose_is_harmless(hostile_report(markdown))


@given(
    st.text(st.sampled_from("<>[]()!\"'`*_|#-\\&;:/ \n\taj=") | st.characters(), max_size=60), st.sampled_from(PAYLOADS)
)
@settings(max_examples=80, deadline=None)
def test_any_markdown_around_a_payload_stays_harmless(around: str, payload: str) -> None:
    prose_is_harmless(hostile_report(around + payload + around))


@pytest.mark.parametrize("name", [payload for payload in PAYLOADS if is_name(payload)])
def test_a_step_id_is_only_a_name(name: str) -> None:
    def named(step_id: str) -> Page:
        sample = Sample()
        sample.steps[step_id] = {**sample.steps.pop(CONCLUSION)}
        return Page(render(sample.run, sample.read, now=NOW))

    page = named(name)
    assert name in page.text
    assert page.skeleton == named("harmless").skeleton


@pytest.mark.parametrize(
    "target",
    [
        "javascript:alert(1)",
        " javascript:alert(1)",
        "JAVASCRIPT:alert(1)",
        "java\nscript:alert(1)",
        "data:text/html,x",
        "vbscript:x",
        "//evil.example",
        "\\\\evil.example",
        "/\\evil.example",
        "https://a b",
        "file:x",
        "",
    ],
)
def test_a_link_that_might_be_a_script_or_go_anywhere_is_left_out(target: str) -> None:
    sample = Sample()
    page = Page(render(sample.run, sample.read, now=NOW, link=lambda _: target))
    assert not page.targets


@pytest.mark.parametrize(
    "target",
    [
        "https://console.cloud.example/x?prefix=a:b",
        "http://127.0.0.1:9023/bucket/o/a%2Fb?alt=media",
        "file:///tmp/run/a.json",
        "artifacts/charts:1M.png",
        "../a.json",
        "/a.json",
        "a.json",
        '/"><script>alert(1)</script>',
    ],
)
def test_a_link_to_the_web_to_a_file_or_to_a_place_beside_the_page_is_kept(target: str) -> None:
    sample = Sample()
    assert Page(render(sample.run, sample.read, now=NOW, link=lambda _: target)).targets == {target}


def test_only_addresses_of_objects_are_ever_linked() -> None:
    sample = Sample()
    asked: list[str] = []
    sample.steps[CONCLUSION]["outputs"]["gcs_uri"] = "javascript:alert(1)"
    uri = sample.steps[CHARTS.format("1M")]["outputs"]["gcs_uri"]
    manifest = json.loads(sample.objects[uri])
    manifest["items"][0]["png_gcs_uri"] = "https://evil.example/pixel.png"
    sample.put_json(uri, manifest)

    def link(uri: str) -> str:
        asked.append(uri)
        return console(uri)

    page = Page(render(sample.run, sample.read, now=NOW, link=link))
    assert asked
    assert all(uri.startswith("gs://") for uri in asked)
    assert page.targets == {console(uri) for uri in asked}


def test_html_in_a_text_is_shown_and_not_obeyed() -> None:
    assert "Say <b>yes</b> <script>alert(1)</script>" in hostile_report("Say <b>yes</b> <script>alert(1)</script>").text


def test_the_model_cannot_lead_readers_away() -> None:
    sample = Sample()
    page = Page(render(sample.run, sample.read, now=NOW))
    assert "https://exchange.example/btc" in MARKDOWN
    assert "the exchange (https://exchange.example/btc) and [picture: a picture]" in page.text
    assert not page.targets

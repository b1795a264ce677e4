"""Every fault, provoked through the unmodified SDK, gives what production code has to expect."""

import json
from collections.abc import Callable

import httpx2
import pytest
from google import genai
from google.genai import errors
from google.genai.types import BlockedReason, FinishReason, GenerateContentResponse
from jsonschema import Draft202012Validator, ValidationError

from emulator.faults import Fault, Handle, drop, drop_after, hang, refuse, shape, status
from emulator.gemini import GeminiServer
from tests.emulator.gemini.asking import MODEL, REPORT, ask, rows
from tests.emulator.gemini.conftest import KEY

Plan = Callable[[Fault], Handle]
PROMPT = json.dumps(rows(+1))


@pytest.fixture
def plan(server: GeminiServer) -> Plan:
    return lambda action: server.faults.add(service="gemini", method="generateContent", action=action, times=1)


def asked(client: genai.Client) -> GenerateContentResponse:
    return ask(client, PROMPT, REPORT)


# --- errors -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "name", "expected"),
    [
        (403, "PERMISSION_DENIED", errors.ClientError),
        (429, "RESOURCE_EXHAUSTED", errors.ClientError),
        (500, "INTERNAL", errors.ServerError),
        (503, "UNAVAILABLE", errors.ServerError),
        (504, "DEADLINE_EXCEEDED", errors.ServerError),
    ],
)
def test_error_status_is_an_api_error(
    client: genai.Client, plan: Plan, code: int, name: str, expected: type[errors.APIError]
) -> None:
    planned = plan(status(code, "bad weather"))
    with pytest.raises(expected) as caught:
        asked(client)
    assert (caught.value.code, caught.value.status, caught.value.message) == (code, name, "bad weather")
    assert planned.fired == 1
    assert asked(client).text


def test_advice_when_to_come_back_is_in_the_header_and_in_the_details(client: genai.Client, plan: Plan) -> None:
    plan(status(429, retry_after=17.5))
    with pytest.raises(errors.ClientError) as caught:
        asked(client)
    assert caught.value.response.headers["Retry-After"] == "18"
    (detail,) = caught.value.details["error"]["details"]
    assert detail == {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "17.5s"}


@pytest.mark.parametrize(
    "action", [drop(), drop_after(), refuse(), hang(0.05)], ids=["drop", "after", "refuse", "hang"]
)
def test_broken_connection_is_a_transport_error(client: genai.Client, plan: Plan, action: Fault) -> None:
    planned = plan(action)
    with pytest.raises(httpx2.TransportError):
        asked(client)
    assert planned.fired == 1


def test_silence_is_a_timeout(client: genai.Client, plan: Plan) -> None:
    plan(hang(30))
    with pytest.raises(httpx2.TimeoutException):
        ask(client, PROMPT, http_options={"timeout": 100})


def test_lost_answer_was_paid_for(server: GeminiServer, client: genai.Client, plan: Plan) -> None:
    before = len(server.faults.history.of("answer"))
    plan(drop_after())
    with pytest.raises(httpx2.TransportError):
        asked(client)
    (paid,) = server.faults.history.of("answer")[before:]
    assert paid.detail["candidatesTokenCount"] > 0


def test_a_question_is_noted_whatever_comes_of_it_and_without_its_words(
    server: GeminiServer, client: genai.Client, plan: Plan
) -> None:
    before = len(server.faults.history.of("question"))
    contents = [f'Read this.\n\n<candles symbol="A secret">\n{PROMPT}\n</candles>\n\n<task>\nWrite.\n</task>']
    plan(status(503))
    with pytest.raises(errors.ServerError):
        ask(client, contents, stop_sequences=["run-1 report"])
    ask(client, [*contents, "<repair>\nAgain.\n</repair>"], stop_sequences=["run-1 report"])
    notes = [record.detail for record in server.faults.history.of("question")[before:]]
    assert notes == [
        {"stops": ["run-1 report"], "blocks": ["candles", "task"]},
        {"stops": ["run-1 report"], "blocks": ["candles", "task", "repair"]},
    ]
    answer = server.faults.history.of("answer")[-1].detail
    assert {key: answer[key] for key in notes[1]} == notes[1]


@pytest.mark.parametrize("body", [b"no json", b"[]", b'{"contents": 7, "generationConfig": []}'])
def test_a_question_that_nobody_can_read_is_noted_too(server: GeminiServer, body: bytes) -> None:
    address = f"{server.url}/v1beta/models/{MODEL}:generateContent"
    assert httpx2.post(address, content=body, headers={"x-goog-api-key": KEY}).status_code == 400
    assert server.faults.history.of("question")[-1].detail == {"stops": [], "blocks": []}


def test_nobody_listening_is_a_transport_error(monkeypatch: pytest.MonkeyPatch) -> None:
    server = GeminiServer().start()
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.url)
    client = genai.Client(api_key="any")
    server.stop()
    with pytest.raises(httpx2.ConnectError):
        asked(client)
    client.close()


# --- answers that are none --------------------------------------------------------------------------------


def test_half_a_document_is_not_parsed_and_not_an_error(client: genai.Client, plan: Plan) -> None:
    plan(shape("truncated_json"))
    told = asked(client)
    assert told.parsed is None
    with pytest.raises(json.JSONDecodeError):
        json.loads(told.text or "")


@pytest.mark.parametrize(("name", "words"), [("wrong_type", "42 is not"), ("missing_fields", "required property")])
def test_document_that_breaks_its_schema(client: genai.Client, plan: Plan, name: str, words: str) -> None:
    plan(shape(name))
    with pytest.raises(ValidationError, match=words):
        Draft202012Validator(REPORT).validate(json.loads(asked(client).text or ""))


@pytest.mark.parametrize("name", ["empty_candidates", "empty_reply"])
def test_no_candidate_at_all(client: genai.Client, plan: Plan, name: str) -> None:
    plan(shape(name))
    told = asked(client)
    assert (told.text, bool(told.candidates), told.prompt_feedback) == (None, False, None)


def test_answer_withheld_for_safety(client: genai.Client, plan: Plan) -> None:
    plan(shape("safety"))
    told = asked(client)
    assert told.candidates
    assert (told.text, told.candidates[0].finish_reason) == (None, FinishReason.SAFETY)


def test_prompt_that_is_blocked(client: genai.Client, plan: Plan) -> None:
    plan(shape("blocked_prompt"))
    told = asked(client)
    assert told.candidates is None
    assert told.prompt_feedback
    assert told.prompt_feedback.block_reason == BlockedReason.SAFETY


@pytest.mark.parametrize(("name", "has_text"), [("max_tokens", True), ("max_tokens_without_text", False)])
def test_answer_that_ran_out_of_tokens(client: genai.Client, plan: Plan, name: str, has_text: bool) -> None:
    plan(shape(name))
    told = asked(client)
    assert told.candidates
    assert (bool(told.text), told.candidates[0].finish_reason) == (has_text, FinishReason.MAX_TOKENS)


def test_page_instead_of_an_answer_is_a_bare_decode_error(client: genai.Client, plan: Plan) -> None:
    plan(shape("non_json"))
    with pytest.raises(json.JSONDecodeError):
        asked(client)


def test_document_in_a_code_fence(client: genai.Client, plan: Plan) -> None:
    plan(shape("code_fence"))
    text = asked(client).text or ""
    assert (text.startswith("```json\n{"), text.endswith("}\n```")) == (True, True)
    Draft202012Validator(REPORT).validate(json.loads(text.removeprefix("```json\n").removesuffix("\n```")))


def test_stream_meets_faults_too(server: GeminiServer, client: genai.Client) -> None:
    server.faults.add(service="gemini", method="streamGenerateContent", action=status(503), times=1)
    with pytest.raises(errors.ServerError):
        list(client.models.generate_content_stream(model=MODEL, contents="hello"))
    assert list(client.models.generate_content_stream(model=MODEL, contents="hello"))


def test_every_call_is_counted_by_model(server: GeminiServer, client: genai.Client) -> None:
    asked(client)
    ask(client, "hello", model="gemini-3.5-flash-lite")
    assert server.faults.calls.count("gemini", "generateContent", MODEL) == 1
    assert server.faults.calls.count("gemini") == 2

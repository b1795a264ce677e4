"""The adapter on the wire: what is sent, what is read, what each refusal becomes, and a deadline that holds."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pytest

from emulator.web import Reply, Request, Server
from flowcore.adapters.gemini import Gemini
from flowcore.contracts.model import Answer, Picture, Question
from flowcore.domain.errors import Code, ConfigurationError, NetworkError, StepFailed

KEY = "the-key"
SCHEMA = {"type": "object", "properties": {"a": {"type": ["string", "null"]}}, "$defs": {"x": {"const": 1}}}
QUESTION = Question(
    model="gemini-3.8-flash",
    system_instruction="Be brief.",
    parts=("Write.", Picture(b"\x89PNG")),
    schema=SCHEMA,
    settings={"temperature": 0, "candidateCount": 1, "responseMimeType": "application/json"},
)
GOOD = {
    "candidates": [{"content": {"parts": [{"text": '{"a":'}, {"text": " null}"}]}, "finishReason": "STOP"}],
    "usageMetadata": {"promptTokenCount": 3, "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 3}]},
    "modelVersion": "gemini-3.8-flash-001",
    "responseId": "r-1",
}


@dataclass
class Provider:
    """Somebody who answers as the test says, and remembers what was asked."""

    reply: Reply = field(default_factory=lambda: Reply.json(GOOD))
    requests: list[Request] = field(default_factory=list)

    def __call__(self, request: Request) -> Reply:
        self.requests.append(request)
        return self.reply


@pytest.fixture(scope="module")
def connected() -> Iterator[tuple[Provider, Gemini]]:
    provider = Provider()
    server = Server(provider).start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GOOGLE_GEMINI_BASE_URL", server.url)
        gemini = Gemini(KEY)
    yield provider, gemini
    gemini.close()
    server.stop()


@pytest.fixture
def provider(connected: tuple[Provider, Gemini]) -> Provider:
    provider, _ = connected
    provider.reply = Reply.json(GOOD)
    provider.requests.clear()
    return provider


@pytest.fixture
def gemini(provider: Provider, connected: tuple[Provider, Gemini]) -> Gemini:
    return connected[1]


def failure(gemini: Gemini, timeout: float = 5.0) -> StepFailed:
    with pytest.raises(StepFailed) as caught:
        gemini.ask(QUESTION, timeout)
    return caught.value


# --- what is sent ---


def test_the_question_is_sent_with_its_own_settings_and_no_others(provider: Provider, gemini: Gemini) -> None:
    gemini.ask(QUESTION, 5)
    [request] = provider.requests
    body = request.json()
    assert request.path.endswith("/models/gemini-3.8-flash:generateContent")
    assert request.headers["x-goog-api-key"] == KEY
    assert request.headers["X-Server-Timeout"] == "5"
    assert body["generationConfig"] == {
        "temperature": 0,
        "candidateCount": 1,
        "responseMimeType": "application/json",
        "responseJsonSchema": SCHEMA,
    }
    assert body["systemInstruction"]["parts"] == [{"text": "Be brief."}]
    [content] = body["contents"]
    assert content["role"] == "user"
    assert content["parts"][0] == {"text": "Write."}
    assert "image/png" in json.dumps(content["parts"][1])
    assert body.keys() == {"contents", "systemInstruction", "generationConfig"}


def test_every_setting_of_a_profile_reaches_the_provider(provider: Provider, gemini: Gemini) -> None:
    settings = {
        "temperature": 0.5,
        "topP": 0.9,
        "topK": 7,
        "maxOutputTokens": 900,
        "stopSequences": ["END"],
        "candidateCount": 1,
        "responseMimeType": "application/json",
        "thinkingConfig": {"includeThoughts": True, "thinkingLevel": "LOW"},
    }
    gemini.ask(Question("m", "s", ("p",), SCHEMA, settings), 5)
    sent = provider.requests[0].json()["generationConfig"]
    thinking = sent.pop("thinkingConfig")
    assert {key.replace("_", "").lower(): value for key, value in thinking.items()} == {
        "includethoughts": True,
        "thinkinglevel": "LOW",
    }
    assert sent == {**{key: settings[key] for key in settings if key != "thinkingConfig"}, "responseJsonSchema": SCHEMA}


def test_a_setting_that_cannot_be_sent_is_the_profiles_fault(provider: Provider, gemini: Gemini) -> None:
    with pytest.raises(ConfigurationError) as caught:
        gemini.ask(Question("m", "s", ("p",), SCHEMA, {"temperature": "warm"}), 5)
    assert caught.value.error.code == Code.LLM_PROFILE_INVALID
    assert "warm" not in caught.value.error.message
    assert provider.requests == []


def test_each_call_has_a_connection_of_its_own(provider: Provider, gemini: Gemini) -> None:
    """One that was kept may have died meanwhile, and would cost the only try."""
    threads: list[str] = []
    provider.reply = Reply(200, _thread_told(threads), {"Content-Type": "application/json"})
    gemini.ask(QUESTION, 5)
    provider.reply = Reply(200, _thread_told(threads), {"Content-Type": "application/json"})
    gemini.ask(QUESTION, 5)
    assert len(set(threads)) == 2


def _thread_told(threads: list[str]) -> Iterator[bytes]:
    threads.append(threading.current_thread().name)  # the server has one for each connection
    yield json.dumps(GOOD).encode()


# --- what is read ---


def test_an_answer_is_its_text_and_what_the_provider_says_of_it(provider: Provider, gemini: Gemini) -> None:
    answer = gemini.ask(QUESTION, 5)
    assert answer == Answer(
        text='{"a": null}',
        finish_reason="STOP",
        usage=GOOD["usageMetadata"],  # type: ignore[arg-type]
        model_version="gemini-3.8-flash-001",
        request_id="r-1",
    )
    assert answer.filtered_by is None


def of_candidate(**candidate: Any) -> dict[str, Any]:
    return {"candidates": [candidate]}


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        ({}, Answer(None)),
        ({"candidates": []}, Answer(None)),
        (of_candidate(finishReason="MAX_TOKENS"), Answer(None, "MAX_TOKENS")),
        (of_candidate(content={"parts": []}, finishReason="STOP"), Answer(None, "STOP")),
        (
            of_candidate(content={"parts": [{"text": "hm", "thought": True}, {"text": "{}"}]}, finishReason="STOP"),
            Answer("{}", "STOP"),
        ),
        ({"promptFeedback": {"blockReason": "OTHER"}}, Answer(None, block_reason="OTHER")),
    ],
)
def test_an_answer_without_a_text_is_an_answer_too(
    provider: Provider, gemini: Gemini, body: dict[str, Any], answer: Answer
) -> None:
    provider.reply = Reply.json(body)
    assert gemini.ask(QUESTION, 5) == answer


@pytest.mark.parametrize(("reason", "told"), [("NEWLY_INVENTED", "NEWLY_INVENTED"), ("my dear zebra", "OTHER")])
@pytest.mark.filterwarnings("ignore:.* is not a valid FinishReason")
def test_a_reason_that_nobody_knows_yet_is_passed_on_if_it_looks_like_one(
    provider: Provider, gemini: Gemini, reason: str, told: str
) -> None:
    provider.reply = Reply.json(of_candidate(content={"parts": [{"text": "{}"}]}, finishReason=reason))
    assert gemini.ask(QUESTION, 5).finish_reason == told


@pytest.mark.parametrize(
    ("answer", "filtered"),
    [
        (Answer("text", "SAFETY"), "SAFETY"),
        (Answer(None, "PROHIBITED_CONTENT"), "PROHIBITED_CONTENT"),
        (Answer(None, block_reason="OTHER"), "OTHER"),
        (Answer("text", "MAX_TOKENS"), None),
        (Answer(None, "RECITATION"), None),
    ],
)
def test_filters_are_told_from_other_ends(answer: Answer, filtered: str | None) -> None:
    assert answer.filtered_by == filtered


# --- what goes wrong ---


def refusal(status: int, *details: dict[str, Any], name: str = "SOME_NAME", **headers: str) -> Reply:
    error = {"code": status, "status": name, "message": "a zebra in the prompt", "details": list(details)}
    return Reply.json({"error": error}, status, headers)


RETRY_INFO = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "17.5s"}
BAD_KEY = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
REFUSED, SILENT = Code.LLM_PROFILE_INVALID, Code.GEMINI_REQUEST_FAILED


@pytest.mark.parametrize(
    ("reply", "code", "details"),
    [
        (refusal(400), REFUSED, {"reason": "request_refused", "httpStatus": 400}),
        (refusal(400, BAD_KEY), REFUSED, {"reason": "key_refused", "httpStatus": 400}),
        (refusal(401), REFUSED, {"reason": "key_refused", "httpStatus": 401}),
        (refusal(403), REFUSED, {"reason": "key_refused", "httpStatus": 403}),
        (refusal(404), REFUSED, {"reason": "MODEL_NOT_FOUND", "httpStatus": 404}),
        (refusal(413, name="zebra"), REFUSED, {"reason": "request_refused", "httpStatus": 413}),
        *((refusal(status), SILENT, {"httpStatus": status}) for status in (408, 409, 499)),
        (refusal(429), Code.RATE_LIMITED, {"httpStatus": 429}),
        (refusal(429, RETRY_INFO), Code.RATE_LIMITED, {"httpStatus": 429, "retryAfterSeconds": 17.5}),
        (refusal(429, **{"Retry-After": "30"}), Code.RATE_LIMITED, {"httpStatus": 429, "retryAfterSeconds": 30.0}),
        (refusal(429, **{"Retry-After": "Wed"}), Code.RATE_LIMITED, {"httpStatus": 429}),
        (refusal(500), SILENT, {"httpStatus": 500}),
        (refusal(503, RETRY_INFO), SILENT, {"httpStatus": 503, "retryAfterSeconds": 17.5}),
        (Reply(302, headers={"Location": "/zebra"}), SILENT, {"httpStatus": 302}),
        (Reply(502, b"<html>zebra</html>"), SILENT, {"httpStatus": 502}),
        (Reply.json(["zebra"], 503), SILENT, {"httpStatus": 503}),
        (Reply.json({"error": "zebra"}, 403), REFUSED, {"reason": "key_refused", "httpStatus": 403}),
        (Reply(200, b"<html>zebra</html>"), SILENT, None),
        (Reply(200, b"\xff\xfe"), SILENT, None),
        (Reply(200, b"3"), SILENT, None),
        (Reply.json(of_candidate(content={"parts": "zebra"})), SILENT, None),
        (Reply(200, b'{"candidates": []}', cut=5), SILENT, None),
    ],
)
def test_a_refusal_becomes_one_of_ours_without_its_words(
    provider: Provider, gemini: Gemini, reply: Reply, code: Code, details: dict[str, object] | None
) -> None:
    provider.reply = reply
    error = failure(gemini).error
    assert (error.code, error.retryable, error.details) == (code, code != REFUSED, details)
    assert "zebra" not in f"{error}"
    assert len(provider.requests) == 1


def drips(stopped: threading.Event) -> Iterator[bytes]:
    while not stopped.wait(0.05):
        yield b" "


def test_a_server_that_sends_a_byte_now_and_then_is_late_all_the_same(provider: Provider, gemini: Gemini) -> None:
    """No pause is longer than the timeout, but all of it together is."""
    stopped = threading.Event()
    provider.reply = Reply(200, drips(stopped), {"Content-Type": "application/json"})
    began = time.monotonic()
    error = failure(gemini, timeout=0.4)
    assert 0.4 <= time.monotonic() - began < 1.5
    assert isinstance(error, NetworkError)
    stopped.set()


def test_a_call_that_is_late_lets_go_of_its_connection(provider: Provider, gemini: Gemini) -> None:
    pieces: list[bytes] = []

    def without_end() -> Iterator[bytes]:
        while True:
            time.sleep(0.01)
            pieces.append(b" " * 65_536)
            yield pieces[-1]

    provider.reply = Reply(200, without_end(), {"Content-Type": "application/json"})
    failure(gemini, timeout=0.3)
    ends = time.monotonic() + 5
    while (before := len(pieces)) and time.monotonic() < ends:
        time.sleep(0.2)
        if len(pieces) == before:
            return  # the server could not write any more
    pytest.fail(f"somebody still listens, after {len(pieces)} pieces")


def test_one_slow_call_keeps_nobody_else_waiting(provider: Provider, gemini: Gemini) -> None:
    stopped = threading.Event()
    provider.reply = Reply(200, drips(stopped), {"Content-Type": "application/json"})

    def wait_for_it() -> None:
        with suppress(StepFailed):  # what it gets in the end is of no interest
            gemini.ask(QUESTION, 60.0)

    slow = threading.Thread(target=wait_for_it)
    slow.start()
    while not provider.requests:
        time.sleep(0.01)
    provider.reply = Reply.json(GOOD)
    assert gemini.ask(QUESTION, 30).text == '{"a": null}'
    assert slow.is_alive()
    stopped.set()
    slow.join()


def test_nobody_listening_is_silence() -> None:
    with pytest.MonkeyPatch.context() as patch:
        server = Server(Provider()).start()
        patch.setenv("GOOGLE_GEMINI_BASE_URL", server.url)
        server.stop()
        gemini = Gemini(KEY)
    assert failure(gemini).error.code == SILENT
    gemini.close()


def test_a_question_and_an_answer_do_not_show_themselves() -> None:
    """Whoever prints one of them, in a log or a trace, prints no prompt and no model's words."""
    assert "Write." not in repr(QUESTION)
    assert "Be brief." not in repr(QUESTION)
    assert "zebra" not in repr(Answer("zebra"))

"""The wire: paths, keys, models, errors, and the two ways to answer, at once or in a stream of events."""

import json
import math
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from emulator.faults import Fault, Faults, StatusReturned
from emulator.faults.http import answer as face
from emulator.faults.http import mounted
from emulator.gemini import errors
from emulator.gemini.answers import Answer, limited, spoiled
from emulator.gemini.errors import GeminiError, invalid
from emulator.gemini.prompt import Prompt, outline, parse
from emulator.gemini.schema import instance
from emulator.gemini.script import Script
from emulator.gemini.words import Words
from emulator.web import Reply, Request

MODELS: Final = {
    "gemini-3.8-flash": "gemini-3.8-flash",
    "gemini-3.5-flash-lite": "gemini-3.5-flash-lite",
    "gemini-3.1-pro-preview": "gemini-3.1-pro-preview",
    "gemini-flash-latest": "gemini-3.8-flash",
    "gemini-pro-latest": "gemini-3.1-pro-preview",
}
PATH: Final = re.compile(r"/(?P<version>v1|v1beta)/models(?:/(?P<model>[^/:]+)(?::(?P<method>\w+))?)?")
GENERATING: Final = ("generateContent", "streamGenerateContent")
PIECES: Final = 5


class Api:
    """One endpoint; `key` is the only one that is let in, or None for any."""

    def __init__(self, faults: Faults, script: Script, key: str | None = None) -> None:
        self._faults = faults
        self._script = script
        self._key = key

    def __call__(self, request: Request) -> Reply:
        if mounted(request.path):
            told = face(self._faults, request.method, request.path, request.query, request.body)
            return Reply.json(told.value, told.status)
        try:
            return self._scripted(request) if request.path == "/__script" else self._answered(request)
        except GeminiError as error:
            return _refused(error)
        except StatusReturned as end:
            return _refused(GeminiError.of_status(end.status), end.status.retry_after)

    def _answered(self, request: Request) -> Reply:
        match = PATH.fullmatch(request.path)
        if not match:
            raise GeminiError(404, "NOT_FOUND", f"{request.method} {request.path} was not found on this server.")
        version, model, method = match["version"], match["model"], match["method"] or "get"
        if method in GENERATING:
            self._faults.history.record("question", "gemini", method, model, **_outline(request))
        with self._faults.call("gemini", method if model else "list", model or "models") as fault:
            self._let_in(request)
            if model is None:
                return Reply.json({"models": [_shown(name) for name in MODELS]})
            if model not in MODELS:
                raise errors.no_model(version, model, method)
            reply = self._done(request, model, method, fault)
            if reply is None:
                raise errors.no_model(version, model, method)
            return reply

    def _done(self, request: Request, model: str, method: str, fault: Fault) -> Reply | None:
        match request.method, method:
            case "GET", "get":
                return Reply.json(_shown(model))
            case "POST", "countTokens":
                prompt = parse(_json(request))
                return Reply.json({"totalTokens": prompt.text_tokens + prompt.image_tokens})
            case "POST", _ if method in GENERATING:
                return self._generated(request, model, method, fault)
        return None

    def _generated(self, request: Request, model: str, method: str, fault: Fault) -> Reply:
        prompt = parse(_json(request))
        answer = spoiled(limited(Answer(prompt, MODELS[model], self._text(prompt))), fault.shape)
        self._faults.history.record(
            "answer",
            "gemini",
            method,
            model,
            finish=answer.blocked or answer.finish,
            shape=fault.shape,
            **_outline(request),
            **answer.usage(),
        )
        if fault.shape == "non_json":
            return Reply(200, b"<html><body>One moment, please.</body></html>", {"Content-Type": "text/html"})
        if fault.shape == "empty_reply":
            return Reply.json({})
        if method == "generateContent":
            return Reply.json(answer.body())
        return _streamed(answer.pieces(PIECES), events=request.query.get("alt") == "sse")

    def _text(self, prompt: Prompt) -> str:
        """The script's line, or the analyst's words in the shape that was asked for."""
        words = Words(prompt)
        wanted = None if prompt.schema is None else instance(prompt.schema, words)  # a bad schema is refused anyway
        line = self._script.line_for(prompt)
        if line is not None:
            return line
        if prompt.schema is not None:
            return json.dumps(wanted, ensure_ascii=False)
        return json.dumps({"report": words.report}, ensure_ascii=False) if prompt.wants_json else words.report

    def _let_in(self, request: Request) -> None:
        key = request.headers.get("x-goog-api-key") or request.query.get("key")
        if not key:
            raise errors.no_key()
        if self._key is not None and key != self._key:
            raise errors.bad_key()

    def _scripted(self, request: Request) -> Reply:
        """POST {"say": text or value, "when": "…", "times": 1} adds a line; DELETE forgets them all."""
        if request.method == "DELETE":
            self._script.clear()
        else:
            wish = _json(request)
            if not isinstance(wish, dict) or "say" not in wish:
                raise invalid('A line of the script is {"say": text or value, "when": "…", "times": 1}.')
            self._script.say(wish["say"], when=wish.get("when", ""), times=wish.get("times", 1))
        return Reply.json({})


def _outline(request: Request) -> dict[str, list[str]]:
    """For the history: before any fault, because what comes of a question is no matter there."""
    try:
        return outline(request.json())
    except ValueError:
        return outline(None)


def _json(request: Request) -> Any:
    try:
        return request.json()
    except ValueError as error:
        raise invalid(f"Invalid JSON payload received. {error}") from None


def _streamed(pieces: Iterable[dict[str, Any]], *, events: bool) -> Reply:
    def lines() -> Iterator[bytes]:
        for piece in pieces:
            yield f"data: {json.dumps(piece, ensure_ascii=False)}\r\n\r\n".encode()

    if events:
        return Reply(200, lines(), {"Content-Type": "text/event-stream"})
    return Reply.json(list(pieces))


def _shown(model: str) -> dict[str, Any]:
    methods = ["generateContent", "streamGenerateContent", "countTokens"]
    limits = {"inputTokenLimit": 1_048_576, "outputTokenLimit": 65_536}
    return {"name": f"models/{model}", "version": MODELS[model], "supportedGenerationMethods": methods, **limits}


def _refused(error: GeminiError, retry_after: float | None = None) -> Reply:
    headers = {} if retry_after is None else {"Retry-After": str(math.ceil(retry_after))}
    return Reply.json(error.body(), error.code, headers)

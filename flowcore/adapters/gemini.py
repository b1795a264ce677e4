"""Gemini behind `Model`.

A deadline that holds is the difficulty here. An HTTP client's timeout counts the silence between two reads, so a server
that sends a byte now and then is never late; and a blocked read cannot be called off from outside. So the calls run on
an event loop of their own, where they can be cancelled, and whoever asks waits no longer than was agreed.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import httpx2
from google import genai
from google.genai import errors, types
from pydantic import ValidationError as Misfit

from flowcore.contracts.model import Answer, Picture, Question
from flowcore.domain.errors import Code, ConfigurationError, NetworkError

# Refused today, but perhaps not tomorrow: the other side gave up waiting, or met itself.
_PASSING = frozenset({408, 409, 499})
_WORD = re.compile(r"[A-Z][A-Z0-9_]{0,59}")
_SECONDS = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)s?")


class Gemini:
    """One client a process. `GOOGLE_GEMINI_BASE_URL` says where it calls, if not at Google's."""

    def __init__(self, api_key: str) -> None:
        self._http = httpx2.AsyncClient(
            # A connection kept from the invocation before may be dead by now, and finding out would cost the only try.
            limits=httpx2.Limits(max_keepalive_connections=0),
            timeout=None,  # each call has its own
        )
        self._client = genai.Client(
            api_key=api_key,
            http_options=types.HttpOptions(
                httpx_async_client=self._http,
                retry_options=types.HttpRetryOptions(attempts=1),  # trying again is our caller's business
            ),
        )
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="gemini", daemon=True)
        self._thread.start()

    def ask(self, question: Question, timeout: float) -> Answer:
        config = _config(question, timeout)
        call = asyncio.run_coroutine_threadsafe(self._generate(question, config), self._loop)
        try:
            with _translated(question.model):
                response = call.result(timeout)
        finally:
            call.cancel()  # closes the connection; of no effect on a call that is done
        return _read(response)

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._http.aclose(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._client.close()

    async def _generate(self, question: Question, config: types.GenerateContentConfig) -> types.GenerateContentResponse:
        contents = types.UserContent([_part(part) for part in question.parts])
        return await self._client.aio.models.generate_content(model=question.model, contents=contents, config=config)


def _config(question: Question, timeout: float) -> types.GenerateContentConfig:
    try:
        return types.GenerateContentConfig.model_validate(
            {
                **question.settings,
                "systemInstruction": question.system_instruction,
                "responseJsonSchema": question.schema,
                # The server is told, too: what nobody waits for need not be generated.
                "httpOptions": types.HttpOptions(timeout=max(1, round(timeout * 1000))),
            }
        )
    except Misfit as misfit:
        raise ConfigurationError(
            Code.LLM_PROFILE_INVALID,
            f"{question.model}: the client library cannot send these settings",
            details={"reason": "request_refused"},
        ) from misfit


def _part(part: str | Picture) -> types.Part:
    if isinstance(part, Picture):
        return types.Part.from_bytes(data=part.content, mime_type=part.mime_type)
    return types.Part.from_text(text=part)


def _read(response: types.GenerateContentResponse) -> Answer:
    feedback = response.prompt_feedback
    candidate = response.candidates[0] if response.candidates else None
    parts = (candidate.content.parts if candidate and candidate.content else None) or []
    usage = response.usage_metadata
    return Answer(
        text="".join(part.text for part in parts if part.text and not part.thought) or None,
        finish_reason=_word(candidate.finish_reason) if candidate else None,
        block_reason=_word(feedback.block_reason) if feedback else None,
        usage=usage.model_dump(mode="json", by_alias=True, exclude_none=True) if usage else {},
        model_version=response.model_version,
        request_id=response.response_id,
    )


def _word(reason: Any) -> str | None:
    """The name of a reason; one that the SDK does not know yet is passed on, as long as it looks like one."""
    if reason is None:
        return None
    name = str(reason.value)
    return name if _WORD.fullmatch(name) else "OTHER"


@contextmanager
def _translated(model: str) -> Iterator[None]:
    """The provider's own words stay here: they may quote the question."""
    try:
        yield
    except errors.APIError as refusal:
        raise _refused(model, refusal) from refusal
    except TimeoutError as late:
        raise _silence(model, "no answer in time") from late
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as garbled:
        # A gateway's page instead of JSON, or JSON of another kind: the library trips over it in whichever way.
        raise _silence(model, "the answer cannot be read") from garbled
    except httpx2.HTTPError as broken:
        raise _silence(model, type(broken).__name__) from broken


def _refused(model: str, refusal: errors.APIError) -> NetworkError | ConfigurationError:
    status = int(refusal.code or 0)
    if status == 429:
        return NetworkError(
            Code.RATE_LIMITED,
            f"{model}: a quota is used up (429)",
            details={"httpStatus": status, **_wish(refusal)},
        )
    if status in _PASSING or not 400 <= status < 500:
        return _silence(model, str(status), {"httpStatus": status, **_wish(refusal)})
    reason, words = _why(status, refusal)
    return ConfigurationError(
        Code.LLM_PROFILE_INVALID,
        f"{model}: {words} ({status})",
        details={"reason": reason, "httpStatus": status},
    )


def _why(status: int, refusal: errors.APIError) -> tuple[str, str]:
    if status == 404:
        return "MODEL_NOT_FOUND", "the provider has no such model, or it cannot generate content"
    if status in (401, 403) or any(detail.get("reason") == "API_KEY_INVALID" for detail in _details(refusal)):
        return "key_refused", "the provider refused the API key; check GEMINI_API_KEY"
    return "request_refused", "the provider refused the request; check the profile's settings and the schema"


def _silence(model: str, what: str, details: Mapping[str, object] | None = None) -> NetworkError:
    return NetworkError(Code.GEMINI_REQUEST_FAILED, f"{model} did not answer ({what})", details=details)


def _wish(refusal: errors.APIError) -> dict[str, object]:
    """How long the provider asks us to wait: exactly in the body, in whole seconds in the header."""
    headers = getattr(refusal.response, "headers", {})
    asked = [str(detail.get("retryDelay", "")) for detail in _details(refusal)] + [str(headers.get("Retry-After", ""))]
    seconds = next((float(match[1]) for text in asked if (match := _SECONDS.fullmatch(text))), None)
    return {} if seconds is None else {"retryAfterSeconds": seconds}


def _details(refusal: errors.APIError) -> list[Mapping[str, Any]]:
    body = refusal.details if isinstance(refusal.details, Mapping) else {}
    error = body.get("error", body)
    details = error.get("details") if isinstance(error, Mapping) else None
    return [detail for detail in details if isinstance(detail, Mapping)] if isinstance(details, list) else []

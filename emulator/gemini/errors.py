"""Refusals in the words of the real service: a code, a canonical status, a sentence, sometimes details."""

from typing import Any

from emulator.faults import Status


class GeminiError(Exception):
    """The request is refused; nothing was generated and nothing is charged."""

    def __init__(self, code: int, status: str, message: str, details: list[dict[str, Any]] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.status = status
        self.message = message
        self.details = details or []

    def body(self) -> dict[str, Any]:
        error: dict[str, Any] = {"code": self.code, "message": self.message, "status": self.status}
        if self.details:
            error["details"] = self.details
        return {"error": error}

    @classmethod
    def of_status(cls, status: Status) -> "GeminiError":
        kind = "type.googleapis.com/google.rpc.RetryInfo"
        wait = [] if status.retry_after is None else [{"@type": kind, "retryDelay": f"{status.retry_after:g}s"}]
        return cls(status.code, status.name, status.message, wait)


def invalid(message: str) -> GeminiError:
    return GeminiError(400, "INVALID_ARGUMENT", message)


def no_key() -> GeminiError:
    message = "Method doesn't allow unregistered callers. Please use API Key or other form of API consumer identity."
    return GeminiError(403, "PERMISSION_DENIED", message)


def bad_key() -> GeminiError:
    detail = {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": "API_KEY_INVALID",
        "domain": "googleapis.com",
        "metadata": {"service": "generativelanguage.googleapis.com"},
    }
    message = "API key not valid. Please pass a valid API key."
    return GeminiError(400, "INVALID_ARGUMENT", message, [detail])


def no_model(version: str, model: str, method: str) -> GeminiError:
    message = (
        f"models/{model} is not found for API version {version}, or is not supported for {method}. "
        "Call ListModels to see the list of available models and their supported methods."
    )
    return GeminiError(404, "NOT_FOUND", message)

"""What goes wrong, with the codes, reasons and words of the real service: the client library decides by the reason."""

from typing import Any, Final

from emulator.faults import Status

# HTTP code → reason and canonical name.
CODES: Final = {
    400: ("invalid", "INVALID_ARGUMENT"),
    401: ("authError", "UNAUTHENTICATED"),
    403: ("accessDenied", "PERMISSION_DENIED"),
    404: ("notFound", "NOT_FOUND"),
    409: ("duplicate", "ALREADY_EXISTS"),
    429: ("rateLimitExceeded", "RESOURCE_EXHAUSTED"),
    500: ("internalError", "INTERNAL"),
    501: ("notImplemented", "UNIMPLEMENTED"),
    502: ("badGateway", "UNAVAILABLE"),
    503: ("backendError", "UNAVAILABLE"),
    504: ("backendError", "DEADLINE_EXCEEDED"),
}
# 403 and 429 have several reasons, and only the words of the message tell which.
SPOKEN: Final = {"Quota exceeded": "quotaExceeded", "Exceeded rate limits": "rateLimitExceeded"}
LOCATION: Final = "US"


class BigQueryError(Exception):
    """The call, or the job, failed."""

    def __init__(self, code: int, message: str, *, reason: str | None = None, location: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.reason = reason or CODES.get(code, ("unknown", ""))[0]
        self.location = location

    def body(self) -> dict[str, Any]:
        """As the answer to a call."""
        detail = {"message": self.message, "domain": "global", "reason": self.reason}
        if self.location:
            detail |= {"location": self.location, "locationType": "parameter"}
        name = CODES.get(self.code, ("", "UNKNOWN"))[1]
        return {"error": {"code": self.code, "message": self.message, "errors": [detail], "status": name}}

    def proto(self) -> dict[str, str]:
        """As the outcome of a job."""
        where = {"location": self.location} if self.location else {}
        return {"reason": self.reason, **where, "message": self.message}

    @classmethod
    def of_status(cls, status: Status) -> "BigQueryError":
        reason = next((reason for words, reason in SPOKEN.items() if status.message.startswith(words)), None)
        return cls(status.code, status.message, reason=reason)


def invalid(message: str, location: str | None = None) -> BigQueryError:
    return BigQueryError(400, message, location=location)


def invalid_query(message: str) -> BigQueryError:
    return BigQueryError(400, message, reason="invalidQuery", location="query")


def no_dataset(project: str, dataset: str) -> BigQueryError:
    return BigQueryError(404, f"Not found: Dataset {project}:{dataset} was not found in location {LOCATION}")


def no_table(project: str, dataset: str, table: str) -> BigQueryError:
    return BigQueryError(404, f"Not found: Table {project}:{dataset}.{table} was not found in location {LOCATION}")


def no_job(project: str, job: str) -> BigQueryError:
    return BigQueryError(404, f"Not found: Job {project}:{LOCATION}.{job}")


def expired() -> BigQueryError:
    return BigQueryError(404, "Not found: the table of this query's results; it has expired, run the query again")


def exists(what: str, name: str) -> BigQueryError:
    return BigQueryError(409, f"Already Exists: {what} {name}")


def too_many_bytes(limit: int, needed: int) -> BigQueryError:
    message = f"Query exceeded limit for bytes billed: {limit}. {needed} or higher required."
    return BigQueryError(400, message, reason="bytesBilledLimitExceeded")


def not_emulated(what: str) -> BigQueryError:
    """Said in the open: better a refusal than an answer that the real service would not give."""
    return BigQueryError(501, f"The emulator does not do this: {what}. See emulator/bigquery/DIFFERENCES.md.")

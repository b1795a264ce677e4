"""What goes wrong, with the codes, reasons and words of the real service: clients and people read all three."""

from typing import Any, Final

from emulator.faults import Status

REASONS: Final = {
    400: "invalid",
    401: "required",
    403: "forbidden",
    404: "notFound",
    409: "conflict",
    410: "gone",
    412: "conditionNotMet",
    413: "uploadTooLarge",
    416: "requestedRangeNotSatisfiable",
    429: "rateLimitExceeded",
    499: "clientClosedRequest",
    500: "backendError",
    501: "notImplemented",
    503: "backendError",
    504: "gatewayTimeout",
}


class StorageError(Exception):
    """The call failed, and the store is as it was."""

    def __init__(self, code: int, message: str, *, reason: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.reason = reason or REASONS.get(code, "unknown")

    def body(self) -> dict[str, Any]:
        detail = {"message": self.message, "domain": "global", "reason": self.reason}
        if self.code == 412:
            detail |= {"locationType": "header", "location": "If-Match"}
        return {"error": {"code": self.code, "message": self.message, "errors": [detail]}}

    @classmethod
    def of_status(cls, status: Status) -> "StorageError":
        return cls(status.code, status.message)


def invalid(message: str) -> StorageError:
    return StorageError(400, message)


def no_bucket() -> StorageError:
    return StorageError(404, "The specified bucket does not exist.")


def no_object(bucket: str, name: str) -> StorageError:
    return StorageError(404, f"No such object: {bucket}/{name}")


def condition_not_met() -> StorageError:
    return StorageError(412, "At least one of the pre-conditions you specified did not hold.")


def not_modified() -> StorageError:
    return StorageError(304, "Not Modified", reason="notModified")

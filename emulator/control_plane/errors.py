"""What is refused, in the shape that every Google API shares: gcloud decides by the code, and people read the words."""

from typing import Any, Final

STATUSES: Final = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ALREADY_EXISTS",
    412: "FAILED_PRECONDITION",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
}
NUMBERS: Final = {"INVALID_ARGUMENT": 3, "NOT_FOUND": 5, "ALREADY_EXISTS": 6, "PERMISSION_DENIED": 7}


class Refused(Exception):
    """The call failed, and nothing has changed. `status` is the name of the code where it is not the usual one."""

    def __init__(
        self, code: int, message: str, *, status: str | None = None, details: list[dict[str, Any]] | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status or STATUSES.get(code, "UNKNOWN")
        self.details = details or []

    def body(self) -> dict[str, Any]:
        error: dict[str, Any] = {"code": self.code, "message": self.message, "status": self.status}
        return {"error": error | ({"details": self.details} if self.details else {})}

    def as_rpc_status(self) -> dict[str, Any]:
        """As a failed operation carries it: with the number that gRPC has for the code."""
        return {"code": NUMBERS.get(self.status, 13), "message": self.message}


def invalid(message: str) -> Refused:
    return Refused(400, message)


def not_found(name: str) -> Refused:
    return Refused(404, f"Resource '{name}' was not found")


def already_exists(name: str) -> Refused:
    return Refused(409, f"Resource '{name}' already exists")


def changed_meanwhile(name: str) -> Refused:
    return Refused(
        409,
        f"There were concurrent changes of '{name}'. Please retry the whole read-modify-write.",
        status="ABORTED",
    )


def denied(message: str) -> Refused:
    return Refused(403, message)


def api_disabled(service: str, project: str) -> Refused:
    """What gcloud recognizes, and then names the service that is to be enabled."""
    return Refused(
        403,
        f"{service} has not been used in project {project} before or it is disabled. Enable it with "
        f"`gcloud services enable {service}` and retry.",
        details=[
            {
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": "SERVICE_DISABLED",
                "domain": "googleapis.com",
                "metadata": {"service": service, "consumer": f"projects/{project}"},
            }
        ],
    )


def not_imitated(what: str) -> Refused:
    """A gap of ours: it must be seen, not worked around."""
    return Refused(501, f"the local control plane does not know {what}: add it under emulator/control_plane/apis")

"""How a request is turned down: one of the codes that gRPC knows, and a sentence for people."""

from enum import StrEnum


class Code(StrEnum):
    """The canonical codes that this server uses, by their names on the wire."""

    INVALID_ARGUMENT = "INVALID_ARGUMENT"
    NOT_FOUND = "NOT_FOUND"
    ALREADY_EXISTS = "ALREADY_EXISTS"
    FAILED_PRECONDITION = "FAILED_PRECONDITION"
    ABORTED = "ABORTED"
    UNIMPLEMENTED = "UNIMPLEMENTED"


class Refused(Exception):
    """The request is not carried out, and nothing has changed."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def invalid(message: str) -> Refused:
    """The request itself is wrong: it can never succeed."""
    return Refused(Code.INVALID_ARGUMENT, message)


def missing(what: str) -> Refused:
    """This server lacks a part of Firestore, and says which."""
    return Refused(Code.UNIMPLEMENTED, f"The local Firestore does not have {what} yet.")

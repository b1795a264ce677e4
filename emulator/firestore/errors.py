"""How a request is turned down: one of the codes that gRPC knows, and a sentence for people."""

from enum import IntEnum


class Code(IntEnum):
    """The canonical codes that this server uses, with their numbers on the wire."""

    INVALID_ARGUMENT = 3
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    FAILED_PRECONDITION = 9
    ABORTED = 10
    UNIMPLEMENTED = 12


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

"""The exceptions of taso. Each has a `status`, which is also the exit code of the programs."""

from __future__ import annotations

OK, BUG, BAD_ARGUMENT, BAD_MODEL, CHECK_FAILED, NOT_VERIFIED, UNAVAILABLE, CANCELLED = 0, 1, 2, 3, 4, 5, 6, 130


class Error(RuntimeError):
    """What taso raises. `status` is a number of taso.h: 1 a bug of taso, 2 a wrong argument, 3 an invalid model, 4 a
    failed check, 5 something that was not verified, 6 no memory, GPU or permission, 130 cancelled."""

    status = BUG


class ArgumentError(Error, ValueError):
    """A wrong name, shape or option."""

    status = BAD_ARGUMENT


class ArgumentTypeError(Error, TypeError):
    """A wrong element type, or something that is not an array."""

    status = BAD_ARGUMENT


class ModelError(Error, ValueError):
    """The model is unreadable or invalid, or cannot run."""

    status = BAD_MODEL


class CheckError(Error):
    """An optimised model computes something else; it is not used."""

    status = CHECK_FAILED


class VerificationError(Error):
    """A rule, property or certificate did not verify."""

    status = NOT_VERIFIED


class UnavailableError(Error):
    """No memory, no such GPU, no permission."""

    status = UNAVAILABLE


class CancelledError(Error):
    """It was cancelled."""

    status = CANCELLED


def error_of(status: int, text: str) -> Error:
    """The exception for a status of the library or an exit code of a program."""
    for kind in (ArgumentError, ModelError, CheckError, VerificationError, UnavailableError, CancelledError):
        if kind.status == status:
            return kind(text)
    error = Error(text)
    error.status = status
    return error

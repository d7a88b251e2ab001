"""What can go wrong. A command that fails, times out or is refused is not among it: that is a result, see `Result.check`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._results import Result

__all__ = [
    "ChitonError",
    "CommandFailed",
    "CommandRefused",
    "CommandTimedOut",
    "NotStarted",
    "RequestError",
    "ShellClosed",
    "StoreError",
    "TaskEnded",
    "TaskError",
    "TaskNotFound",
    "UndoError",
]


class ChitonError(Exception):
    """Any error of this package."""


class RequestError(ChitonError, ValueError):
    """What was asked for makes no sense, so nothing was started. The message says what to change."""


class NotStarted(ChitonError):
    """The command could not be started. The message says why."""


class ShellClosed(ChitonError):
    """The shell was closed, so it runs nothing more."""


class TaskError(ChitonError):
    """A task did not do what it was asked for."""


class TaskNotFound(TaskError, LookupError):
    """There is no task with this id."""


class TaskEnded(TaskError):
    """The task has ended, so it can neither be written to nor print what is waited for."""


class UndoError(ChitonError):
    """Something cannot be undone. The message says why."""


class StoreError(ChitonError):
    """A saved session cannot be read or written, or does not exist."""


class CommandFailed(ChitonError):
    """A command did not end with exit code 0, and `check` wanted that. `result` has all of it."""

    def __init__(self, message: str, result: Result) -> None:
        super().__init__(message)
        self.result = result

    def __reduce__(self) -> tuple[type[CommandFailed], tuple[str, Result]]:
        # An exception with two arguments has to say so to be pickled.
        return type(self), (self.args[0], self.result)


class CommandTimedOut(CommandFailed, TimeoutError):
    """A command took longer than it may, and was stopped."""


class CommandRefused(CommandFailed):
    """The guard did not let a command run."""

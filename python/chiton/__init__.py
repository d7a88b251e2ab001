"""The shell that AI agents use, from Python.

    import chiton

    with chiton.Shell(sandbox="work") as shell:
        shell.run("cd src; export PORT=8080")
        print(shell.run("pwd; echo $PORT").stdout)

Commands run in real bash. Each is kept by a process of its own, so a timeout, a Ctrl-C or the death of this process stops
everything that it started. Sources and documentation: https://github.com/chiton-shell/chiton, docs/python.md.
"""

from ._async_shell import AsyncShell, AsyncTask
from ._base import OPEN, Question
from ._engine import VERSION as __version__
from ._program import find_program
from ._results import Changed, Chunk, Leftover, Result, TaskState, Undone
from ._shell import Shell, Task
from ._streams import AsyncStream, Stream
from .errors import (
    ChitonError,
    CommandFailed,
    CommandRefused,
    CommandTimedOut,
    NotStarted,
    RequestError,
    ShellClosed,
    StoreError,
    TaskEnded,
    TaskError,
    TaskNotFound,
    UndoError,
)

__all__ = [
    "OPEN",
    "AsyncShell",
    "AsyncStream",
    "AsyncTask",
    "Changed",
    "ChitonError",
    "Chunk",
    "CommandFailed",
    "CommandRefused",
    "CommandTimedOut",
    "Leftover",
    "NotStarted",
    "Question",
    "RequestError",
    "Result",
    "Shell",
    "ShellClosed",
    "StoreError",
    "Stream",
    "Task",
    "TaskEnded",
    "TaskError",
    "TaskNotFound",
    "TaskState",
    "Undone",
    "UndoError",
    "__version__",
    "find_program",
]

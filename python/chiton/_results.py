"""What comes back from a command."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, List, Mapping, NamedTuple, Optional, Tuple

from .errors import CommandFailed, CommandRefused, CommandTimedOut


class Chunk(NamedTuple):
    """A stretch of output."""

    stream: str
    """`stdout` or `stderr`."""
    text: str


class Leftover(NamedTuple):
    """A process that a command left running."""

    pid: int
    command: str


@dataclass(frozen=True)
class Changed:
    """What a command did to the files of its workspace. Known only in a sandbox."""

    made: int
    changed: int
    removed: int
    names: Mapping[str, List[str]]
    """The first names of each kind: `made`, `changed`, `removed`."""
    undo: Optional[str]
    """The id that `Shell.undo` takes."""
    preview: Optional[str]
    """The id of the preview that holds it, where nothing has changed yet."""
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Result:
    """How a command ended, and what it printed."""

    outcome: str
    """`exited`, `signaled`, `timed_out`, `cancelled`, `killed`, `lost` or `refused`."""
    exit_code: Optional[int] = None
    """The exit code; `None` unless the outcome is `exited`."""
    signal: Optional[str] = None
    """The signal that ended it, like `SIGSEGV`; `None` unless the outcome is `signaled`."""
    stdout: str = ""
    stderr: str = ""
    output: str = ""
    """Both streams in the order of arrival."""
    omitted: int = 0
    """Bytes that are not in `stdout` and `stderr`, because there were too many; `Shell.task(result.id)` reads them."""
    duration: float = 0.0
    """Seconds."""
    cwd: str = ""
    """Where the session is now."""
    notices: List[str] = field(default_factory=list)
    """What else there is to know, in words."""
    changed: Optional[Changed] = None
    leftovers: List[Leftover] = field(default_factory=list)
    """What it left running."""
    leftover_task: Optional[str] = None
    """The id under which that is a task."""
    denied: List[str] = field(default_factory=list)
    """What the sandbox denied it, in words."""
    reason: Optional[str] = None
    """Why it was refused."""
    rule: Optional[str] = None
    """The rule of the guard that refused it."""
    limit: Optional[str] = None
    """The limit that it was stopped at or ran into."""
    guard: str = "off"
    """How commands were judged."""
    sandbox: Optional[str] = None
    """The sandbox profile that held it."""
    id: Optional[str] = None
    """The id of the run, for `Shell.task` and the `chiton` command; `None` where nothing ran."""

    @property
    def ok(self) -> bool:
        """Whether it ended with exit code 0."""
        return self.exit_code == 0

    def check(self) -> Result:
        """Gives the result itself where the command ended with exit code 0, and raises `CommandFailed` otherwise."""
        if self.ok:
            return self
        if self.outcome == "refused":
            raise CommandRefused(f"the command was refused: {self.reason}", self)
        if self.outcome == "timed_out":
            raise CommandTimedOut(f"the command timed out after {self.duration:.1f} s and was stopped", self)
        how = {
            "exited": f"exited with code {self.exit_code}",
            "signaled": f"was ended by {self.signal}",
        }.get(self.outcome, f"was {self.outcome}")
        said = self.stderr.strip() or self.output.strip()
        raise CommandFailed(f"the command {how}" + (f": {said[-2000:]}" if said else ""), self)

    @classmethod
    def _from(cls, answer: "dict[str, Any]") -> Result:
        values = dict(answer, cwd=str(answer.get("cwd", "")))
        if values.get("changed") is not None:
            values["changed"] = Changed(**values["changed"])
        values["leftovers"] = [Leftover(*one) for one in values.get("leftovers", [])]
        return cls(**values)


@dataclass(frozen=True)
class TaskState:
    """A task at one moment."""

    id: str
    command: str
    directory: str
    status: str
    """`pending`, `running`, `completed`, `failed`, `timeout`, `killed` or `lost`."""
    running: bool
    outcome: Optional[str]
    """How it ended, as in `Result.outcome`; `None` while it runs."""
    exit_code: Optional[int]
    signal: Optional[str]
    pid: Optional[int]
    duration: float
    leftovers: List[Leftover]

    @property
    def ok(self) -> bool:
        """Whether it ended with exit code 0."""
        return self.exit_code == 0

    @classmethod
    def _from(cls, answer: "dict[str, Any]") -> TaskState:
        leftovers = [Leftover(*one) for one in answer["leftovers"]]
        return cls(**dict(answer, directory=str(answer["directory"]), leftovers=leftovers))


@dataclass(frozen=True)
class Undone:
    """What undoing came to."""

    id: str
    """What was undone."""
    undo: Optional[str] = None
    """The id by which what was done to files can be undone again; `None` where nothing was."""
    text: str = "nothing"
    """What was done to files, in words."""
    left_alone: List[Tuple[str, str]] = field(default_factory=list)
    """Files that others have changed since, each with the reason why it was left alone."""
    failed: List[Tuple[str, str]] = field(default_factory=list)
    """Files that could not be put back, each with the reason."""

    @classmethod
    def _from(cls, answer: "dict[str, Any]") -> Undone:
        return cls(**(answer["files"] or {"id": answer["id"]}))

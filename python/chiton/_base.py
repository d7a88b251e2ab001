"""What `Shell` and `AsyncShell` have in common: everything but the waiting."""

from __future__ import annotations

import getpass
import os
import threading
from dataclasses import dataclass
from typing import Any, Callable, Dict, Mapping, Optional, Sequence, Set, Tuple, Union

from ._engine import Call, NativeShell
from ._program import find_program, sandbox_policy
from ._request import Request, Setting, Text, as_bytes, as_environment, as_path
from ._results import Result
from .errors import CommandRefused, RequestError, ShellClosed

PathLike = Union[str, "os.PathLike[str]"]


class _Open:
    def __repr__(self) -> str:
        return "chiton.OPEN"


OPEN = _Open()
"""As `stdin` of a task: nothing yet, and what `send` writes later."""

Input = Union[str, bytes, _Open, None]


@dataclass(frozen=True)
class Question:
    """What `approve` is asked: the guard, or the sandbox, wants a decision."""

    heading: str
    """The question in one sentence."""
    command: str
    directory: str
    reason: str
    text: str
    """All of it for a person, with everything visible that could deceive."""


def own_directory(variable: str, *otherwise: str) -> str:
    """Where the `chiton` command keeps something, too."""
    base = os.environ.get(variable, "")
    if not os.path.isabs(base):
        base = os.path.join(os.path.expanduser("~"), *otherwise)
    return os.path.join(base, "chiton")


def current_umask() -> int:
    # The other way to ask changes it for all threads, for a moment.
    with open("/proc/self/status", encoding="ascii", errors="replace") as status:
        for line in status:
            if line.startswith("Umask:"):
                return int(line.split()[1], 8)
    return 0o022


class ShellBase:
    """Holds a native shell, and what is needed to close it."""

    def __init__(
        self,
        directory: Optional[PathLike] = None,
        *,
        env: Optional[Mapping[str, Text]] = None,
        guard: str = "default",
        sandbox: Optional[str] = None,
        add_dirs: Sequence[PathLike] = (),
        approve: Optional[Callable[[Question], Any]] = None,
        timeout: Optional[float] = None,
        max_tasks: Optional[int] = None,
        name: Optional[str] = None,
        state_dir: Optional[PathLike] = None,
        program: Optional[PathLike] = None,
    ) -> None:
        place = as_path(directory) or os.getcwd()
        if not os.path.isdir(place):
            raise RequestError(f"{place} is not a directory")
        state = as_path(state_dir) or own_directory("XDG_STATE_HOME", ".local", "state")
        keeper = find_program(None if program is None else os.fspath(program))
        added = [as_path(path) or "" for path in add_dirs]
        variables: Mapping[str, Text] = os.environ if env is None else env
        setting = Setting(
            state_dir=state,
            directory=place,
            environment=as_environment(variables),
            umask=current_umask(),
            name=name,
            program=keeper,
            config_dir=own_directory("XDG_CONFIG_HOME", ".config"),
            data_dir=own_directory("XDG_DATA_HOME", ".local", "share"),
            home=os.path.expanduser("~"),
            user=getpass.getuser(),
            guard=guard,
            sandbox=sandbox_policy(keeper, sandbox, place, state, added),
            timeout=timeout,
            max_tasks=max_tasks,
        )
        self._approve = approve
        self._set_up(NativeShell(setting, None if approve is None else self._ask))

    def _set_up(self, native: NativeShell) -> None:
        self._shell = native
        self._native_tasks = native.tasks()
        self._lock = threading.Lock()
        self._calls: Set[Call] = set()
        self._closed = False
        # What ends with this shell, by id.
        self._tasks: Dict[str, None] = {}

    def _ask(self, about: "dict[str, Any]") -> str:
        question = Question(**dict(about, directory=str(about["directory"])))
        answer = self._answer_of(question)
        return answer if answer in ("once", "session") else ("once" if answer is True else "no")

    def _answer_of(self, question: Question) -> Any:
        assert self._approve is not None
        return self._approve(question)

    def _native(self) -> NativeShell:
        if self._closed:
            raise ShellClosed("this shell is closed")
        return self._shell

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._closed

    @property
    def cwd(self) -> str:
        """The working directory of the session."""
        return str(self._native().state()["cwd"])

    @property
    def env(self) -> "dict[str, str]":
        """The variables that commands see."""
        exported = self._native().state()["environment"]
        return {name: value.decode("utf-8", "surrogateescape") for name, value in exported.items()}

    def _tracked(self, start: Callable[[Callable[..., None]], Call]) -> Callable[[Callable[..., None]], Call]:
        """The same, stopped when this shell is closed."""

        def begin(done: Callable[..., None]) -> Call:
            with self._lock:
                # Held until the call is in the set: its end, which waits here, takes it out again.
                def ended(value: Any, error: Optional[BaseException]) -> None:
                    with self._lock:
                        self._calls.discard(call)
                    done(value, error)

                call = start(ended)
                self._calls.add(call)
            return call

        return begin

    def _cancel_calls(self) -> None:
        with self._lock:
            calls = list(self._calls)
        for call in calls:
            call.cancel()

    def _keep(self, answer: "dict[str, Any]") -> Result:
        """Makes a result of an answer, and remembers what it left running."""
        result = Result._from(answer)
        if result.leftover_task is not None:
            self._tasks[result.leftover_task] = None
        return result

    def _started(self, answer: "dict[str, Any]", durable: bool) -> str:
        if answer.get("outcome") == "refused":
            result = Result(outcome="refused", reason=answer["reason"], rule=answer["rule"])
            raise CommandRefused(f"the command was refused: {result.reason}", result)
        if not durable:
            self._tasks[answer["id"]] = None
        return str(answer["id"])


def make_request(
    command: Text,
    *,
    timeout: Optional[float],
    silence: Optional[float],
    env: Optional[Mapping[str, Text]],
    stdin: Input,
    directory: Optional[PathLike],
    max_output: Optional[int] = None,
    preview: bool = False,
    durable: bool = False,
    terminal: Union[bool, Tuple[int, int]] = False,
    description: Optional[str] = None,
) -> Request:
    size = (80, 24) if terminal is True else (terminal or None)
    is_text = isinstance(stdin, (str, bytes))
    if stdin is not None and not is_text and stdin is not OPEN:
        raise RequestError(f"stdin is {type(stdin).__name__}; it has to be str, bytes or chiton.OPEN")
    return Request(
        command=as_bytes("the command", command),
        timeout=timeout,
        silence=silence,
        directory=as_path(directory),
        environment=as_environment(env),
        stdin=as_bytes("stdin", stdin) if is_text else None,  # type: ignore[arg-type]
        open_stdin=stdin is OPEN,
        terminal=size,
        preview=preview,
        durable=durable,
        max_output=max_output,
        description=description,
    )

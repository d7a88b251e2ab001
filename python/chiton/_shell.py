"""`Shell` and `Task`: for programs without an event loop."""

from __future__ import annotations

import copy
from typing import Any, Callable, Iterator, List, Mapping, Optional, Tuple, Union

from ._base import Input, PathLike, ShellBase, make_request
from ._calls import wait
from ._request import Reading, Text, Waiting
from ._results import Chunk, Result, TaskState, Undone
from ._streams import Stream
from .errors import TaskEnded

START = (0, 0)


class TaskBase:
    """A task and where its reader is."""

    def __init__(self, shell: ShellBase, id: str) -> None:
        self._tasks = shell._native_tasks
        self._cursor: Tuple[int, int] = START
        self.id = id
        """The id, also for the `chiton` command."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}>"

    @property
    def state(self) -> TaskState:
        """How it is now."""
        return TaskState._from(self._tasks.look_up(self.id))

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self.state.running

    def read(
        self,
        *,
        all: bool = False,
        head: Optional[int] = None,
        tail: Optional[int] = None,
        grep: Optional[str] = None,
        stream: Optional[str] = None,
    ) -> str:
        """Output as text: what is new since the last `read` of this object.

        `all`, `head` and `tail` read all of it, or so many lines of its beginning or end; `grep` keeps lines that match a
        regular expression. None of these moves what counts as new. `stream` is `stdout` or `stderr`.
        """
        return "".join(text for _, text in self._chunks(all=all, head=head, tail=tail, grep=grep, stream=stream))

    def _chunks(
        self,
        *,
        all: bool = False,
        head: Optional[int] = None,
        tail: Optional[int] = None,
        grep: Optional[str] = None,
        stream: Optional[str] = None,
    ) -> List[Tuple[str, str]]:
        part, lines = ("head", head) if head is not None else ("tail", tail) if tail is not None else ("new", 0)
        if part == "new" and (all or grep is not None):
            part = "all"
        reading = Reading(cursor=self._cursor, part=part, lines=lines or 0, stream=stream, grep=grep)
        chunks, self._cursor, _ = self._tasks.read(self.id, reading)
        return chunks

    def _waiting(self, **wanted: Any) -> Callable[[Callable[..., None]], Any]:
        waiting = Waiting(**wanted)
        return lambda done: self._tasks.wait(self.id, waiting, done)

    def _ended(self, waited: "dict[str, Any]", timeout: Optional[float]) -> TaskState:
        if waited["reason"] == "timed_out":
            raise TimeoutError(f"{self.id} still runs after {timeout} s")
        return TaskState._from(waited["task"])

    def _matched(self, waited: "dict[str, Any]", pattern: str, timeout: Optional[float]) -> str:
        if waited["reason"] == "matched":
            return str(waited["detail"])
        if waited["reason"] == "timed_out":
            raise TimeoutError(f"{self.id} has printed no line that matches '{pattern}' within {timeout} s")
        raise TaskEnded(f"{self.id} has ended ({waited['task']['status']}) without a line that matches '{pattern}'")

    def _asked(self, waited: "dict[str, Any]", timeout: Optional[float]) -> str:
        if waited["reason"] == "timed_out":
            raise TimeoutError(f"{self.id} does not wait for input after {timeout} s")
        if waited["reason"] != "input":
            raise TaskEnded(f"{self.id} has ended ({waited['task']['status']}) and does not wait for input")
        return str(waited["detail"])

    def _listening(self, waited: "dict[str, Any]", port: int, timeout: Optional[float]) -> None:
        if waited["reason"] == "timed_out":
            more = f"; {waited['detail']}" if waited["detail"] else ""
            raise TimeoutError(f"{self.id} does not listen on port {port} after {timeout} s{more}")
        if waited["reason"] != "listening":
            raise TaskEnded(f"{self.id} has ended ({waited['task']['status']}) and does not listen on port {port}")


class Task(TaskBase):
    """A command that runs in the background. Made by `Shell.start`, or by `Shell.task` from an id."""

    def wait(self, timeout: Optional[float] = None) -> TaskState:
        """Waits for the end. Raises `TimeoutError` where that takes longer; the task goes on then."""
        return self._ended(wait(self._waiting(cursor=START, timeout=timeout)), timeout)

    def wait_for(self, pattern: str, timeout: Optional[float] = None) -> str:
        """Waits for a line that matches a regular expression, also one that is there already, and gives it.

        Raises `TimeoutError` where that takes longer, and `TaskEnded` where the task ends without such a line.
        """
        waited = wait(self._waiting(cursor=START, pattern=pattern, timeout=timeout))
        return self._matched(waited, pattern, timeout)

    def wait_for_port(self, port: int, timeout: Optional[float] = None) -> None:
        """Waits until it listens on a port."""
        self._listening(wait(self._waiting(cursor=START, port=port, timeout=timeout)), port, timeout)

    def wait_for_input(self, timeout: Optional[float] = None) -> str:
        """Waits until it waits for somebody to type into its terminal, and gives what it asks."""
        return self._asked(wait(self._waiting(cursor=START, input=True, timeout=timeout)), timeout)

    def __iter__(self) -> Iterator[Chunk]:
        """What is new, as it comes, until the end."""
        while True:
            is_over = not self.running
            chunks = self._chunks()
            for stream, text in chunks:
                yield Chunk(stream, text)
            if not chunks:
                if is_over:
                    return
                wait(self._waiting(cursor=self._cursor, bytes=1))

    def send(self, text: str) -> None:
        """Writes to its input, which has to be open (`stdin=chiton.OPEN`), or types into its terminal."""
        wait(lambda done: self._tasks.send(self.id, text, done))

    def press(self, keys: str) -> None:
        """Presses keys in its terminal, by name: `enter`, `ctrl-c`, `up up enter`."""
        wait(lambda done: self._tasks.press(self.id, keys, done))

    def screen(self) -> str:
        """What its terminal shows."""
        return str(wait(lambda done: self._tasks.screen(self.id, done)))

    def resize(self, columns: int, rows: int) -> None:
        """Gives its terminal another size."""
        wait(lambda done: self._tasks.resize(self.id, columns, rows, done))

    def close_input(self) -> None:
        """Ends its input."""
        wait(lambda done: self._tasks.end_input(self.id, done))

    def signal(self, name: str) -> None:
        """Sends a signal to its process group, like `INT`."""
        wait(lambda done: self._tasks.signal(self.id, name, done))

    def kill(self, grace: Optional[float] = None) -> TaskState:
        """Stops it, with everything it started: first politely, after `grace` seconds by force. Returns when all is gone."""
        return TaskState._from(wait(lambda done: self._tasks.kill(self.id, grace, done)))


class Shell(ShellBase):
    """A shell session: what a command changes, its directory and variables among it, is there for the next one.

    `directory` is where it begins, `env` the environment [default: that of this process]. `guard` judges commands before they
    run: `default`, `strict` or `off`. `sandbox` names a profile that holds them, like `work` or `offline` (`chiton sandbox list`
    shows all); `add_dirs` are folders that commands in it may change besides. `approve` is asked where the guard or the sandbox
    wants a decision: a function that takes a `Question` and returns `True`, `False`, or `"session"` for as long as this shell
    lasts; without it the answer is no. `timeout` is how many seconds a command may take that names no other time.

    Use it in a `with` statement, or call `close`: both end everything that its commands left running.
    """

    def run(
        self,
        command: Text,
        *,
        timeout: Optional[float] = None,
        silence: Optional[float] = None,
        env: Optional[Mapping[str, Text]] = None,
        stdin: Union[str, bytes, None] = None,
        directory: Optional[PathLike] = None,
        max_output: Optional[int] = None,
        preview: bool = False,
        check: bool = False,
        on_output: Optional[Callable[[Chunk], Any]] = None,
    ) -> Result:
        """Runs a command and waits for its end.

        `timeout` stops it after so many seconds, `silence` when it has printed nothing for so long. `env` and `directory` are
        for this command alone. `max_output` is how many bytes of each stream the result has; all of it is kept on disk.
        `preview` holds back what it does to files; this needs a sandbox. With `check`, anything but exit code 0 raises.
        """
        request = make_request(
            command, timeout=timeout, silence=silence, env=env, stdin=stdin, directory=directory, max_output=max_output,
            preview=preview,
        )
        if on_output is not None:
            return self._run_aloud(request, on_output, check)
        native = self._native()
        result = self._keep(wait(self._tracked(lambda done: native.run(request, None, done))))
        return result.check() if check else result

    def _run_aloud(self, request: Any, on_output: Callable[[Chunk], Any], check: bool) -> Result:
        native = self._native()
        with Stream(lambda put, done: self._tracked(lambda ended: native.run(request, put, ended))(done), self._keep) as stream:
            for chunk in stream:
                on_output(chunk)
            result = stream.result()
        return result.check() if check else result

    def stream(
        self,
        command: Text,
        *,
        timeout: Optional[float] = None,
        silence: Optional[float] = None,
        env: Optional[Mapping[str, Text]] = None,
        stdin: Union[str, bytes, None] = None,
        directory: Optional[PathLike] = None,
        max_output: Optional[int] = None,
    ) -> Stream:
        """Runs a command and gives its output as it comes: iterate over it, then ask it for its `result`.

        A reader that takes its time slows the command down. To leave the loop early, use it in a `with` statement.
        """
        request = make_request(
            command, timeout=timeout, silence=silence, env=env, stdin=stdin, directory=directory, max_output=max_output
        )
        native = self._native()
        return Stream(lambda put, done: self._tracked(lambda ended: native.run(request, put, ended))(done), self._keep)

    def start(
        self,
        command: Text,
        *,
        timeout: Optional[float] = None,
        silence: Optional[float] = None,
        env: Optional[Mapping[str, Text]] = None,
        stdin: Input = None,
        directory: Optional[PathLike] = None,
        terminal: Union[bool, Tuple[int, int]] = False,
        durable: bool = False,
        description: Optional[str] = None,
    ) -> Task:
        """Starts a command in the background.

        It ends with this shell, or with this process; a `durable` one outlives both, and `chiton ps` finds it. `terminal` runs
        it in a terminal of 80 by 24, or of the columns and rows given. `stdin=chiton.OPEN` lets `Task.send` write to it.
        """
        request = make_request(
            command, timeout=timeout, silence=silence, env=env, stdin=stdin, directory=directory, durable=durable,
            terminal=terminal, description=description,
        )
        native = self._native()
        return Task(self, self._started(wait(lambda done: native.start(request, done)), durable))

    def task(self, id: str) -> Task:
        """The task or run with this id; a unique beginning of an id is enough."""
        return Task(self, self._native_tasks.look_up(id)["id"])

    def tasks(self) -> List[Task]:
        """Those of this shell that still run."""
        return [task for task in (Task(self, id) for id in self._tasks) if task.running]

    def fork(self) -> Shell:
        """A shell that begins where this one is, and goes its own way. It is closed by itself."""
        other = copy.copy(self)
        other._set_up(self._native().fork())
        return other

    def undo(self, id: Optional[str] = None, *, force: bool = False, dry_run: bool = False) -> Undone:
        """Takes back what the last command did: to this session, and to the files of its workspace.

        Files are known only in a sandbox whose profile keeps them, as `work` does. What others have changed since is left
        alone, unless `force` is set. With the `id` of a run (`Result.changed.undo`), only what that did to files is undone.
        """
        native = self._native()
        return Undone._from(wait(lambda done: native.undo(id, force, dry_run, done)))

    def save(self, name: str) -> None:
        """Writes the session down, for `load` or `chiton run --session NAME`."""
        self._native().save(name)

    def load(self, name: str) -> None:
        """Goes on from a session that was saved."""
        self._native().load(name)

    def close(self) -> None:
        """Ends everything that it left running. It can be called twice."""
        if self._closed:
            return
        self._closed = True
        self._cancel_calls()
        for id in self._tasks:
            try:
                Task(self, id).kill()
            except LookupError:
                # It is gone, and was cleaned up.
                continue
        self._shell.close()

    def __enter__(self) -> Shell:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

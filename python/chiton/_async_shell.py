"""`AsyncShell` and `AsyncTask`: for asyncio."""

from __future__ import annotations

import asyncio
import copy
import inspect
from typing import Any, AsyncIterator, List, Mapping, Optional, Tuple, Union

from ._base import Input, PathLike, Question, ShellBase, make_request
from ._calls import wait_async
from ._request import Text
from ._results import Chunk, Result, TaskState, Undone
from ._shell import START, TaskBase
from ._streams import AsyncStream


class AsyncTask(TaskBase):
    """A command that runs in the background. Made by `AsyncShell.start`, or by `AsyncShell.task` from an id."""

    async def wait(self, timeout: Optional[float] = None) -> TaskState:
        """Waits for the end. Raises `TimeoutError` where that takes longer; the task goes on then, also where the wait is
        cancelled."""
        return self._ended(await wait_async(self._waiting(cursor=START, timeout=timeout)), timeout)

    async def wait_for(self, pattern: str, timeout: Optional[float] = None) -> str:
        """Waits for a line that matches a regular expression, also one that is there already, and gives it.

        Raises `TimeoutError` where that takes longer, and `TaskEnded` where the task ends without such a line.
        """
        waited = await wait_async(self._waiting(cursor=START, pattern=pattern, timeout=timeout))
        return self._matched(waited, pattern, timeout)

    async def wait_for_port(self, port: int, timeout: Optional[float] = None) -> None:
        """Waits until it listens on a port."""
        self._listening(await wait_async(self._waiting(cursor=START, port=port, timeout=timeout)), port, timeout)

    async def wait_for_input(self, timeout: Optional[float] = None) -> str:
        """Waits until it waits for somebody to type into its terminal, and gives what it asks."""
        return self._asked(await wait_async(self._waiting(cursor=START, input=True, timeout=timeout)), timeout)

    async def __aiter__(self) -> AsyncIterator[Chunk]:
        """What is new, as it comes, until the end."""
        while True:
            is_over = not self.running
            chunks = self._chunks()
            for stream, text in chunks:
                yield Chunk(stream, text)
            if not chunks:
                if is_over:
                    return
                await wait_async(self._waiting(cursor=self._cursor, bytes=1))

    async def send(self, text: str) -> None:
        """Writes to its input, which has to be open (`stdin=chiton.OPEN`), or types into its terminal."""
        await wait_async(lambda done: self._tasks.send(self.id, text, done))

    async def press(self, keys: str) -> None:
        """Presses keys in its terminal, by name: `enter`, `ctrl-c`, `up up enter`."""
        await wait_async(lambda done: self._tasks.press(self.id, keys, done))

    async def screen(self) -> str:
        """What its terminal shows."""
        return str(await wait_async(lambda done: self._tasks.screen(self.id, done)))

    async def resize(self, columns: int, rows: int) -> None:
        """Gives its terminal another size."""
        await wait_async(lambda done: self._tasks.resize(self.id, columns, rows, done))

    async def close_input(self) -> None:
        """Ends its input."""
        await wait_async(lambda done: self._tasks.end_input(self.id, done))

    async def signal(self, name: str) -> None:
        """Sends a signal to its process group, like `INT`."""
        await wait_async(lambda done: self._tasks.signal(self.id, name, done))

    async def kill(self, grace: Optional[float] = None) -> TaskState:
        """Stops it, with everything it started: first politely, after `grace` seconds by force. Returns when all is gone."""
        return TaskState._from(await wait_async(lambda done: self._tasks.kill(self.id, grace, done)))


class AsyncShell(ShellBase):
    """The same as `Shell`, for asyncio. A call that is cancelled stops its command, with everything that started, and ends when
    all of it is gone. `approve` may be a coroutine function.

    Use it in an `async with` statement, or call `aclose`: both end everything that its commands left running.
    """

    _loop: Optional[asyncio.AbstractEventLoop] = None

    def _answer_of(self, question: Question) -> Any:
        answer = super()._answer_of(question)
        if inspect.isawaitable(answer):
            assert self._loop is not None

            async def whole() -> Any:
                return await answer

            return asyncio.run_coroutine_threadsafe(whole(), self._loop).result()
        return answer

    async def run(
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
    ) -> Result:
        """Runs a command and waits for its end; the arguments are those of `Shell.run`."""
        request = make_request(
            command, timeout=timeout, silence=silence, env=env, stdin=stdin, directory=directory, max_output=max_output,
            preview=preview,
        )
        native = self._native()
        self._loop = asyncio.get_running_loop()
        result = self._keep(await wait_async(self._tracked(lambda done: native.run(request, None, done))))
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
    ) -> AsyncStream:
        """Runs a command and gives its output as it comes: iterate over it, then await its `result()`.

        A reader that takes its time slows the command down. To leave the loop early, use it in an `async with` statement.
        """
        request = make_request(
            command, timeout=timeout, silence=silence, env=env, stdin=stdin, directory=directory, max_output=max_output
        )
        native = self._native()
        self._loop = asyncio.get_running_loop()
        return AsyncStream(lambda put, done: self._tracked(lambda ended: native.run(request, put, ended))(done), self._keep)

    async def start(
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
    ) -> AsyncTask:
        """Starts a command in the background; the arguments are those of `Shell.start`."""
        request = make_request(
            command, timeout=timeout, silence=silence, env=env, stdin=stdin, directory=directory, durable=durable,
            terminal=terminal, description=description,
        )
        native = self._native()
        self._loop = asyncio.get_running_loop()
        return AsyncTask(self, self._started(await wait_async(lambda done: native.start(request, done)), durable))

    def task(self, id: str) -> AsyncTask:
        """The task or run with this id; a unique beginning of an id is enough."""
        return AsyncTask(self, self._native_tasks.look_up(id)["id"])

    def tasks(self) -> List[AsyncTask]:
        """Those of this shell that still run."""
        return [task for task in (AsyncTask(self, id) for id in self._tasks) if task.running]

    async def fork(self) -> AsyncShell:
        """A shell that begins where this one is, and goes its own way. It is closed by itself."""
        native = await asyncio.to_thread(self._native().fork)
        other = copy.copy(self)
        other._set_up(native)
        return other

    async def undo(self, id: Optional[str] = None, *, force: bool = False, dry_run: bool = False) -> Undone:
        """Takes back what the last command did, or what a run did to files; see `Shell.undo`."""
        native = self._native()
        return Undone._from(await wait_async(lambda done: native.undo(id, force, dry_run, done)))

    async def save(self, name: str) -> None:
        """Writes the session down, for `load` or `chiton run --session NAME`."""
        await asyncio.to_thread(self._native().save, name)

    async def load(self, name: str) -> None:
        """Goes on from a session that was saved."""
        await asyncio.to_thread(self._native().load, name)

    async def aclose(self) -> None:
        """Ends everything that it left running. It can be called twice."""
        if self._closed:
            return
        self._closed = True
        self._cancel_calls()
        killed = await asyncio.gather(*(AsyncTask(self, id).kill() for id in self._tasks), return_exceptions=True)
        await asyncio.to_thread(self._shell.close)
        for error in killed:
            # What is gone was cleaned up.
            if isinstance(error, BaseException) and not isinstance(error, LookupError):
                raise error

    async def __aenter__(self) -> AsyncShell:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

"""Waiting for the native part: it calls a function when it is done. Nothing is polled, and nobody holds the interpreter."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from concurrent.futures import Future
from typing import Any, Callable, Deque, Optional, Tuple

from ._engine import Call

Start = Callable[[Callable[[Any, Optional[BaseException]], None]], Call]


def _begin(start: Start) -> "Tuple[Call, Future[Any]]":
    future: Future[Any] = Future()
    # From now on nobody can cancel it: work is stopped with `Call.cancel`, and its end is told.
    future.set_running_or_notify_cancel()

    def done(value: Any, error: Optional[BaseException]) -> None:
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)

    return start(done), future


def wait(start: Start) -> Any:
    """Starts work and waits for it. Ctrl-C and other exceptions stop it, and are raised when it is gone."""
    call, future = _begin(start)
    try:
        return future.result()
    except BaseException:
        if not future.done():
            call.cancel()
            _wait_for_end(future)
        raise


def _wait_for_end(future: "Future[Any]") -> None:
    ended = threading.Event()
    future.add_done_callback(lambda _: ended.set())
    ended.wait()


async def wait_async(start: Start) -> Any:
    """The same for asyncio. A cancelled wait stops the work, and ends when that is gone."""
    call, future = _begin(start)
    waiting = asyncio.wrap_future(future)
    try:
        # Shielded: cancelling the wrapped future would forget the work instead of stopping it.
        return await asyncio.shield(waiting)
    except asyncio.CancelledError:
        call.cancel()
        while not waiting.done():
            try:
                await asyncio.shield(waiting)
            except asyncio.CancelledError:
                # Cancelled once more. The work is still on its way to its end, which does not take long.
                continue
            except BaseException:
                break
        # Nobody asks for it any more; without this, asyncio would complain about an exception that nobody saw.
        if not waiting.cancelled():
            waiting.exception()
        raise


class Buffer:
    """Output between the thread that receives it and whoever reads it. A reader that takes its time slows the command."""

    MOST = 64

    def __init__(self, wake: Callable[[], None] = lambda: None) -> None:
        self._chunks: Deque[Tuple[str, bytes]] = deque()
        self._changed = threading.Condition()
        self._wake = wake
        self._open = True

    def put(self, stream: str, data: bytes) -> bool:
        """Called by the native part; false where nobody reads any more."""
        with self._changed:
            self._changed.wait_for(lambda: not self._open or len(self._chunks) < self.MOST)
            if self._open:
                self._chunks.append((stream, data))
                self._changed.notify_all()
        self._wake()
        return self._open

    def take(self) -> Optional[Tuple[str, bytes]]:
        """What has come, or `None`."""
        with self._changed:
            if not self._chunks:
                return None
            chunk = self._chunks.popleft()
            self._changed.notify_all()
            return chunk

    def wait(self, is_over: Callable[[], bool]) -> None:
        """Waits until there is something, or nothing more comes."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self._chunks) or is_over())

    def notify(self) -> None:
        with self._changed:
            self._changed.notify_all()
        self._wake()

    def close(self) -> None:
        """Nobody reads any more."""
        with self._changed:
            self._open = False
            self._chunks.clear()
            self._changed.notify_all()

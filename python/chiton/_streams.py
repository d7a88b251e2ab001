"""Output of a command while it runs."""

from __future__ import annotations

import asyncio
import codecs
from typing import Any, AsyncIterator, Callable, Iterator, Optional

from ._calls import Buffer, _begin, _wait_for_end
from ._results import Chunk, Result

Starter = Callable[[Callable[[str, bytes], bool], Callable[..., None]], Any]


class _Texts:
    """Turns bytes into text. Half a character waits for its other half."""

    def __init__(self) -> None:
        make = codecs.getincrementaldecoder("utf-8")
        self._decoders = {name: make("replace") for name in ("stdout", "stderr")}

    def text(self, stream: str, data: bytes) -> Optional[Chunk]:
        text = self._decoders[stream].decode(data)
        return Chunk(stream, text) if text else None


class Stream:
    """The output of a command, chunk by chunk, and its result at the end. Made by `Shell.stream`."""

    def __init__(self, start: Starter, keep: Callable[[Any], Result]) -> None:
        self._texts, self._buffer, self._keep = _Texts(), Buffer(), keep
        self._kept: Optional[Result] = None
        self._call, self._future = _begin(lambda done: start(self._buffer.put, done))
        self._future.add_done_callback(lambda _: self._buffer.notify())

    def __iter__(self) -> Iterator[Chunk]:
        return self

    def __next__(self) -> Chunk:
        while True:
            # Asked first: what came before the end is taken before the end is told.
            is_over = self._future.done()
            taken = self._buffer.take()
            if taken is not None:
                chunk = self._texts.text(*taken)
                if chunk is not None:
                    return chunk
            elif is_over:
                self._future.result()
                raise StopIteration
            else:
                self._buffer.wait(self._future.done)

    def result(self) -> Result:
        """Waits for the end. Output that was not read is left out here; the result has it."""
        self._buffer.close()
        if self._kept is None:
            self._kept = self._keep(self._future.result())
        return self._kept

    def close(self) -> None:
        """Stops the command, if it still runs, with everything it started."""
        if not self._future.done():
            self._call.cancel()
            self._buffer.close()
            _wait_for_end(self._future)

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_future") and not self._future.done():
            self._call.cancel()
            self._buffer.close()


class AsyncStream:
    """The same for asyncio. Made by `AsyncShell.stream`."""

    def __init__(self, start: Starter, keep: Callable[[Any], Result]) -> None:
        self._loop, self._more = asyncio.get_running_loop(), asyncio.Event()
        self._texts, self._buffer, self._keep = _Texts(), Buffer(self._wake), keep
        self._kept: Optional[Result] = None
        self._call, self._future = _begin(lambda done: start(self._buffer.put, done))
        self._future.add_done_callback(lambda _: self._buffer.notify())

    def _wake(self) -> None:
        try:
            self._loop.call_soon_threadsafe(self._more.set)
        except RuntimeError:
            # The loop has ended, and with it everybody who could read.
            self._buffer.close()

    def __aiter__(self) -> AsyncIterator[Chunk]:
        return self

    async def __anext__(self) -> Chunk:
        while True:
            self._more.clear()
            is_over = self._future.done()
            taken = self._buffer.take()
            if taken is not None:
                chunk = self._texts.text(*taken)
                if chunk is not None:
                    return chunk
            elif is_over:
                self._future.result()
                raise StopAsyncIteration
            else:
                await self._wait()

    async def _wait(self) -> None:
        try:
            await self._more.wait()
        except asyncio.CancelledError:
            await self.aclose()
            raise

    async def result(self) -> Result:
        """Waits for the end. Output that was not read is left out here; the result has it."""
        self._buffer.close()
        while not self._future.done():
            self._more.clear()
            if not self._future.done():
                await self._wait()
        if self._kept is None:
            self._kept = self._keep(self._future.result())
        return self._kept

    async def aclose(self) -> None:
        """Stops the command, if it still runs, with everything it started."""
        if not self._future.done():
            self._call.cancel()
            self._buffer.close()
            await asyncio.shield(asyncio.gather(asyncio.wrap_future(self._future), return_exceptions=True))

    async def __aenter__(self) -> AsyncStream:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __del__(self) -> None:
        if hasattr(self, "_future") and not self._future.done():
            self._call.cancel()
            self._buffer.close()

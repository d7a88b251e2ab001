"""The same with asyncio."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import AsyncIterator

import pytest
import pytest_asyncio

import chiton
from conftest import is_there


@pytest_asyncio.fixture
async def shell(workspace: Path, state: Path) -> AsyncIterator[chiton.AsyncShell]:
    async with chiton.AsyncShell(workspace, state_dir=state) as shell:
        yield shell


async def first_line(path: Path) -> str:
    """What a command writes into a fifo, once it does."""
    return await asyncio.to_thread(path.read_text)


async def test_commands_are_awaited(shell: chiton.AsyncShell) -> None:
    result = await shell.run("cd /usr; echo hello", check=True)
    assert result.stdout == "hello\n" and shell.cwd == "/usr"
    with pytest.raises(chiton.CommandFailed):
        await shell.run("false", check=True)


async def test_commands_run_at_the_same_time(shell: chiton.AsyncShell, workspace: Path) -> None:
    os.mkfifo(workspace / "meeting")
    reader, writer = await asyncio.gather(shell.run("cat meeting", timeout=30), shell.run("echo met > meeting", timeout=30))
    assert (reader.stdout, writer.ok) == ("met\n", True)


async def test_a_cancelled_call_stops_its_command(shell: chiton.AsyncShell, workspace: Path) -> None:
    os.mkfifo(workspace / "ready")
    call = asyncio.create_task(shell.run("(trap '' TERM; sleep 600) & echo $! > ready; wait"))
    pid = int(await first_line(workspace / "ready"))
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert not is_there(pid)
    assert (await shell.run("echo still here")).stdout == "still here\n"


async def test_a_timeout_of_asyncio_stops_the_command(shell: chiton.AsyncShell, workspace: Path) -> None:
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(shell.run("echo $$ > pid; sleep 600"), 3)
    assert not is_there(int((workspace / "pid").read_text()))


async def test_output_comes_as_it_is_printed(shell: chiton.AsyncShell, workspace: Path) -> None:
    os.mkfifo(workspace / "go")
    stream, heard = shell.stream("echo one; cat go; echo two"), []
    async for chunk in stream:
        heard.append(chunk.text)
        if chunk.text == "one\n":
            await asyncio.to_thread((workspace / "go").write_text, "")
    assert heard == ["one\n", "two\n"]
    assert (await stream.result()).stdout == "one\ntwo\n"


async def test_a_slow_reader_loses_nothing(shell: chiton.AsyncShell) -> None:
    length = 0
    async for chunk in shell.stream("head -c 20000000 /dev/zero | tr '\\0' x"):
        length += len(chunk.text)
        await asyncio.sleep(0)
    assert length == 20_000_000


async def test_leaving_a_stream_stops_its_command(shell: chiton.AsyncShell) -> None:
    async with shell.stream("echo $$; yes") as stream:
        pid = int((await stream.__anext__()).text.split()[0])
    assert not is_there(pid)


async def test_a_cancelled_reader_stops_the_command(shell: chiton.AsyncShell, workspace: Path) -> None:
    os.mkfifo(workspace / "ready")

    async def read() -> None:
        async for _ in shell.stream("echo $$ > ready; sleep 600"):
            pass

    reader = asyncio.create_task(read())
    pid = int(await first_line(workspace / "ready"))
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader
    assert not is_there(pid)


async def test_tasks_are_awaited(shell: chiton.AsyncShell) -> None:
    task = await shell.start('read -r line; echo "got $line"; sleep 600', stdin=chiton.OPEN)
    await task.send("it\n")
    assert await task.wait_for("got", timeout=30) == "got it"
    with pytest.raises(TimeoutError):
        await task.wait(0.1)
    waiting = asyncio.create_task(task.wait())
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert task.running
    assert (await task.kill()).status == "killed"


async def test_a_task_is_followed(shell: chiton.AsyncShell) -> None:
    task = await shell.start("echo one; sleep 0.05; echo two")
    assert "".join([chunk.text async for chunk in task]) == "one\ntwo\n"


async def test_sessions_are_forked_saved_and_undone(shell: chiton.AsyncShell, workspace: Path) -> None:
    await shell.run("cd /usr")
    await shell.save("here")
    async with await shell.fork() as other:
        await other.run("cd /")
        assert (other.cwd, shell.cwd) == ("/", "/usr")
        await other.load("here")
        assert other.cwd == "/usr"
    await shell.undo()
    assert shell.cwd == str(workspace)


async def test_a_coroutine_is_asked_in_place_of_a_person(workspace: Path, state: Path) -> None:
    async def approve(question: chiton.Question) -> bool:
        await asyncio.sleep(0)
        return "fine" in question.command

    async with chiton.AsyncShell(workspace, state_dir=state, guard="strict", approve=approve) as shell:
        assert (await shell.run("unknown-program fine")).exit_code == 127
        assert (await shell.run("unknown-program other")).outcome == "refused"

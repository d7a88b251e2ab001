"""Commands in the background."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

import chiton
from conftest import is_there


def test_a_task_is_read_and_waited_for(shell: chiton.Shell) -> None:
    task = shell.start("echo one; echo two >&2; exit 5")
    state = task.wait(30)
    assert (state.status, state.outcome, state.exit_code, state.running) == ("failed", "exited", 5, False)
    assert sorted(task.read().splitlines()) == ["one", "two"]
    assert task.read() == ""
    assert task.read(all=True, stream="stderr") == "two\n"
    assert task.read(grep="^o") == "one\n"


def test_input_is_written_to_a_task(shell: chiton.Shell) -> None:
    task = shell.start('while read -r line; do echo "got $line"; done; echo end', stdin=chiton.OPEN)
    task.send("one\n")
    assert task.wait_for("got", timeout=30) == "got one"
    task.send("two\n")
    assert task.wait_for("two", timeout=30) == "got two"
    task.close_input()
    assert task.wait(30).ok
    with pytest.raises(chiton.TaskEnded):
        task.send("three\n")


def test_a_closed_input_is_said(shell: chiton.Shell) -> None:
    task = shell.start("sleep 600")
    with pytest.raises(chiton.TaskError, match="input is closed"):
        task.send("x\n")


def test_waiting_has_an_end(shell: chiton.Shell) -> None:
    task = shell.start("echo begun; sleep 600")
    with pytest.raises(TimeoutError, match="still runs after 0.1 s"):
        task.wait(0.1)
    with pytest.raises(TimeoutError, match="no line that matches 'never'"):
        task.wait_for("never", timeout=0.1)
    short = shell.start("echo other")
    with pytest.raises(chiton.TaskEnded, match="without a line that matches 'never'"):
        short.wait_for("never", timeout=30)
    with pytest.raises(chiton.RequestError, match="not a regular expression"):
        task.wait_for("(")


def test_a_kill_takes_everything_with_it(shell: chiton.Shell) -> None:
    task = shell.start("sleep 600 & echo $!; setsid sleep 600 & echo $!; echo ready; wait")
    task.wait_for("ready", timeout=30)
    pids = task.read(grep="^[0-9]+$").split()
    assert len(pids) == 2
    state = task.kill()
    assert (state.status, state.outcome) == ("killed", "killed")
    assert not any(is_there(int(pid)) for pid in pids)


def test_a_signal_reaches_the_task(shell: chiton.Shell) -> None:
    task = shell.start("trap 'echo caught; exit 7' INT; echo ready; while :; do sleep 0.05; done")
    task.wait_for("ready", timeout=30)
    task.signal("INT")
    assert task.wait(30).exit_code == 7
    with pytest.raises(chiton.RequestError, match="no signal 'NONE'"):
        task.signal("NONE")


def test_a_task_is_followed_to_its_end(shell: chiton.Shell) -> None:
    task = shell.start("for i in 1 2 3; do echo $i; sleep 0.02; done; echo end >&2")
    chunks = list(task)
    assert "".join(chunk.text for chunk in chunks if chunk.stream == "stdout") == "1\n2\n3\n"
    assert "".join(chunk.text for chunk in chunks if chunk.stream == "stderr") == "end\n"


def test_a_port_is_waited_for(shell: chiton.Shell) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    task = shell.start(f"exec python3 -m http.server --bind 127.0.0.1 {port}")
    task.wait_for_port(port, timeout=30)
    assert [one.id for one in shell.tasks()] == [task.id]


def test_a_program_is_used_in_a_terminal(shell: chiton.Shell) -> None:
    task = shell.start("read -p 'name? ' name; echo hello $name; tput cols", terminal=(100, 30))
    task.wait_for_input(timeout=30)
    task.send("you\n")
    assert task.wait(30).ok
    assert "hello you" in task.screen() and "100" in task.read(all=True)


def test_a_task_is_found_by_its_id_from_another_shell(shell: chiton.Shell, workspace: Path, state: Path) -> None:
    task = shell.start("echo found; sleep 600")
    with chiton.Shell(workspace, state_dir=state) as other:
        same = other.task(task.id[:12])
        assert same.id == task.id and same.wait_for("found", timeout=30) == "found"
    assert task.running
    with pytest.raises(chiton.TaskNotFound):
        shell.task("shell_00000000")


def test_a_durable_task_outlives_its_shell(workspace: Path, state: Path) -> None:
    with chiton.Shell(workspace, state_dir=state) as shell:
        task = shell.start("sleep 600", durable=True)
    with chiton.Shell(workspace, state_dir=state) as other:
        assert other.task(task.id).running
        other.task(task.id).kill()


def test_a_refused_task_raises(shell: chiton.Shell) -> None:
    with pytest.raises(chiton.CommandRefused) as raised:
        shell.start("rm -rf /")
    assert raised.value.result.rule == "delete-root"

"""What becomes of commands when the Python process goes away, in whichever way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import List

import chiton
from conftest import DEADLINE, is_there, wait_until_gone

BUSY = """
    import sys, threading, chiton

    shell = chiton.Shell(sys.argv[1], state_dir=sys.argv[2])
    left = shell.run("setsid sleep 600 & echo $!").stdout
    task = shell.start("(trap '' TERM HUP INT; sleep 600) & echo $!; wait")
    in_task = task.wait_for("[0-9]+", timeout=30)
    stream = shell.stream("sleep 600 & echo $!; wait")
    in_call = next(stream).text
    print(int(left), int(in_task), int(in_call), flush=True)
    {then}
"""


def start(then: str, workspace: Path, state: Path) -> "tuple[subprocess.Popen[str], List[int]]":
    """Starts a Python process that has one command running, one task, and one process left behind."""
    script = textwrap.dedent(BUSY).format(then=then)
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(workspace), str(state)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    pids = [int(word) for word in process.stdout.readline().split()]
    assert len(pids) == 3
    return process, pids


def test_kill_minus_nine_leaves_no_process(workspace: Path, state: Path) -> None:
    process, pids = start("threading.Event().wait()", workspace, state)
    assert all(is_there(pid) for pid in pids)
    process.send_signal(signal.SIGKILL)
    assert process.wait(DEADLINE) == -signal.SIGKILL
    for pid in pids:
        assert wait_until_gone(pid), f"{pid} is still there"


def test_an_interpreter_that_ends_without_closing_leaves_no_process(workspace: Path, state: Path) -> None:
    process, pids = start("pass", workspace, state)
    assert process.wait(DEADLINE) == 0
    for pid in pids:
        assert wait_until_gone(pid), f"{pid} is still there"


def test_another_process_finds_what_the_killed_one_ran(workspace: Path, state: Path) -> None:
    process, pids = start("threading.Event().wait()", workspace, state)
    process.kill()
    process.wait(DEADLINE)
    for pid in pids:
        wait_until_gone(pid)
    listed = subprocess.run(
        [chiton.find_program(), "--state-dir", str(state), "ps", "--all"], capture_output=True, text=True, check=True
    ).stdout
    assert "trap '' TERM HUP INT" in listed


def test_a_forked_process_has_a_shell_of_its_own(shell: chiton.Shell, workspace: Path, state: Path) -> None:
    assert shell.run("echo parent").stdout == "parent\n"
    child = os.fork()
    if child == 0:
        code = 1
        try:
            with chiton.Shell(workspace, state_dir=state) as own:
                code = 0 if own.run("echo child").stdout == "child\n" else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert shell.run("echo parent").stdout == "parent\n"

"""A state directory and a workspace for each test, and a look for processes that it left behind."""

from __future__ import annotations

import os
import select
from pathlib import Path
from typing import Iterator, List

import pytest

import chiton

DEADLINE = 30.0
"""Nothing here takes so long, on a busy machine either."""


def processes_of(program: str) -> List[int]:
    """The processes that run this program."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                if os.readlink(f"/proc/{entry}/exe") == program:
                    found.append(int(entry))
            except OSError:
                continue
    return found


def wait_until_gone(pid: int) -> bool:
    """Waits for the end of a process that is not a child of this one."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        return bool(poll.poll(DEADLINE * 1000))
    finally:
        os.close(handle)


def is_there(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state[0] not in "ZX"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def shell(workspace: Path, state: Path) -> Iterator[chiton.Shell]:
    with chiton.Shell(workspace, state_dir=state) as shell:
        yield shell


@pytest.fixture
def held_shell(workspace: Path, state: Path) -> Iterator[chiton.Shell]:
    with chiton.Shell(workspace, state_dir=state, sandbox="work") as shell:
        yield shell


@pytest.fixture(autouse=True)
def leaves_no_process() -> Iterator[None]:
    """Every keeper of a test is gone after it."""
    yield
    for pid in processes_of(os.path.realpath(chiton.find_program())):
        assert wait_until_gone(pid), f"a keeper is still there: {pid}"

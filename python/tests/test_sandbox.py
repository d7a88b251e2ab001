"""Commands that are held, and what they did undone."""

from __future__ import annotations

from pathlib import Path

import pytest

import chiton


def test_a_sandbox_holds_a_command_and_says_what_it_denied(held_shell: chiton.Shell, tmp_path: Path) -> None:
    outside = Path.home() / "chiton-python-test-outside"
    result = held_shell.run(f"echo x > {outside}")
    assert result.sandbox == "work" and not result.ok
    assert not outside.exists() and any(outside.name in line for line in result.denied)


def test_what_a_command_did_to_files_is_told_and_undone(held_shell: chiton.Shell, workspace: Path) -> None:
    (workspace / "kept.txt").write_text("before")
    result = held_shell.run("echo after > kept.txt; echo new > made.txt; cd /usr")
    assert result.changed is not None
    assert (result.changed.made, result.changed.changed) == (1, 1)
    assert result.changed.names["made"] == ["made.txt"] and "made.txt" in str(result.changed)

    undone = held_shell.undo()
    assert undone.id == result.id and "made.txt" in undone.text and undone.left_alone == []
    assert (workspace / "kept.txt").read_text() == "before" and not (workspace / "made.txt").exists()
    assert held_shell.cwd == str(workspace)

    held_shell.undo(undone.undo)
    assert (workspace / "made.txt").read_text() == "new\n"


def test_a_dry_run_of_undo_changes_nothing(held_shell: chiton.Shell, workspace: Path) -> None:
    held_shell.run("echo new > made.txt")
    assert "made.txt" in held_shell.undo(dry_run=True).text
    assert (workspace / "made.txt").exists()


def test_a_preview_changes_nothing(held_shell: chiton.Shell, workspace: Path) -> None:
    result = held_shell.run("echo new > made.txt", preview=True)
    assert result.ok and result.changed is not None and result.changed.preview
    assert not (workspace / "made.txt").exists()


def test_a_profile_that_there_is_not_is_named(workspace: Path, state: Path) -> None:
    with pytest.raises(chiton.RequestError, match="wrok"):
        chiton.Shell(workspace, state_dir=state, sandbox="wrok")


def test_another_folder_can_be_added(workspace: Path, state: Path, tmp_path: Path) -> None:
    added = tmp_path / "added"
    added.mkdir()
    with chiton.Shell(workspace, state_dir=state, sandbox="work", add_dirs=[added]) as shell:
        shell.run(f"echo x > {added}/file", check=True)
    assert (added / "file").read_text() == "x\n"

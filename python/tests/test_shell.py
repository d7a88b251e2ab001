"""Running commands, one after the other."""

from __future__ import annotations

import inspect
import os
import pickle
import signal
import threading
from pathlib import Path

import pytest

import chiton
from conftest import is_there


def test_a_result_says_how_a_command_ended_and_what_it_printed(shell: chiton.Shell) -> None:
    result = shell.run("echo out; echo err >&2; exit 3")
    assert (result.outcome, result.exit_code, result.ok) == ("exited", 3, False)
    assert (result.stdout, result.stderr) == ("out\n", "err\n")
    assert sorted(result.output.splitlines()) == ["err", "out"]
    assert result.duration > 0 and result.id and result.guard == "default" and result.sandbox is None


def test_what_a_command_changes_is_there_for_the_next_one(shell: chiton.Shell) -> None:
    shell.run("cd /usr; export PORT=8080; greet() { echo hello $1; }")
    assert shell.cwd == "/usr" and shell.env["PORT"] == "8080"
    assert shell.run("pwd; echo $PORT; greet you").stdout == "/usr\n8080\nhello you\n"


def test_a_signal_is_not_an_exit_code(shell: chiton.Shell) -> None:
    killed, exited = shell.run("kill -9 $$"), shell.run("exit 137")
    assert (killed.outcome, killed.exit_code, killed.signal) == ("signaled", None, "SIGKILL")
    assert (exited.outcome, exited.exit_code) == ("exited", 137)


def test_a_timeout_stops_everything_and_leaves_the_session(shell: chiton.Shell) -> None:
    shell.run("X=1")
    result = shell.run("X=2; sleep 600 & echo $!; sleep 600", timeout=0.5)
    assert (result.outcome, result.limit) == ("timed_out", "timeout")
    assert not is_there(int(result.stdout))
    assert shell.run("echo $X").stdout == "1\n"
    with pytest.raises(chiton.CommandTimedOut) as raised:
        result.check()
    assert isinstance(raised.value, TimeoutError) and raised.value.result is result


def test_silence_stops_a_command_too(shell: chiton.Shell) -> None:
    assert shell.run("echo begun; sleep 600", silence=0.3).limit == "silence"


def test_variables_input_and_directory_are_for_one_call(shell: chiton.Shell, workspace: Path) -> None:
    result = shell.run("echo $NAME; cat; pwd", env={"NAME": "ä"}, stdin="typed\n", directory="/usr")
    assert result.stdout == "ä\ntyped\n/usr\n"
    assert shell.run("echo [$NAME]; pwd").stdout == f"[]\n{workspace}\n"
    assert shell.run("od -An -tx1", stdin=b"\xff\x00").stdout.split() == ["ff", "00"]


def test_the_environment_can_be_given_whole(workspace: Path, state: Path) -> None:
    with chiton.Shell(workspace, state_dir=state, env={"PATH": "/usr/bin:/bin", "ONLY": "1"}) as shell:
        assert shell.run("echo $ONLY [$HOME]").stdout == "1 []\n"


def test_check_raises_with_what_was_printed(shell: chiton.Shell) -> None:
    with pytest.raises(chiton.CommandFailed, match="exited with code 2: no such thing") as raised:
        shell.run("echo no such thing >&2; exit 2", check=True)
    assert raised.value.result.exit_code == 2
    copied = pickle.loads(pickle.dumps(raised.value))
    assert copied.result == raised.value.result
    assert shell.run("true", check=True).ok


def test_the_guard_refuses_and_says_why(shell: chiton.Shell) -> None:
    result = shell.run("rm -rf /")
    assert (result.outcome, result.exit_code, result.id) == ("refused", None, None)
    assert result.reason and result.rule == "delete-root"
    with pytest.raises(chiton.CommandRefused):
        result.check()


def test_the_guard_protects_chiton_itself(shell: chiton.Shell, state: Path) -> None:
    for command in (f"rm -r {state}", "echo > ~/.config/chiton/config.toml", "chiton run --guard off true"):
        assert shell.run(command).outcome == "refused", command


def test_a_function_is_asked_in_place_of_a_person(workspace: Path, state: Path) -> None:
    asked = []

    def approve(question: chiton.Question) -> bool:
        asked.append(question)
        return question.command.endswith("yes.txt")

    (workspace / "repository").mkdir()
    with chiton.Shell(workspace, state_dir=state, guard="strict", approve=approve) as shell:
        allowed = shell.run("some-unknown-program yes.txt")
        refused = shell.run("some-unknown-program no.txt")
    assert (allowed.exit_code, refused.outcome) == (127, "refused")
    assert [question.directory for question in asked] == [str(workspace)] * 2
    assert "some-unknown-program" in asked[0].text


def test_output_is_told_while_the_command_runs(shell: chiton.Shell, workspace: Path) -> None:
    os.mkfifo(workspace / "go")
    heard = []

    def hear(chunk: chiton.Chunk) -> None:
        heard.append(chunk)
        if chunk.text == "one\n":
            (workspace / "go").write_text("")

    result = shell.run("echo one; cat go; echo two", on_output=hear)
    assert [chunk.text for chunk in heard] == ["one\n", "two\n"]
    assert result.stdout == "one\ntwo\n"


def test_a_stream_gives_every_byte_in_order(shell: chiton.Shell) -> None:
    stream = shell.stream("seq 200000; echo end >&2; exit 4")
    text = {"stdout": "", "stderr": ""}
    for chunk in stream:
        text[chunk.stream] += chunk.text
    assert text["stdout"] == "".join(f"{number}\n" for number in range(1, 200001))
    assert text["stderr"] == "end\n"
    assert stream.result().exit_code == 4


def test_leaving_a_stream_stops_its_command(shell: chiton.Shell) -> None:
    with shell.stream("echo $$; yes") as stream:
        pid = int(next(stream).text.split()[0])
    assert not is_there(pid)
    assert stream.result().outcome == "cancelled"


def test_long_output_is_cut_in_the_result_and_kept_on_disk(shell: chiton.Shell) -> None:
    result = shell.run("seq 100000", max_output=1000)
    assert len(result.stdout) < 1100 and result.omitted > 500000 and "bytes omitted" in result.stdout
    assert shell.task(result.id).read(tail=1) == "100000\n"


def test_a_character_is_never_torn(shell: chiton.Shell) -> None:
    text = "".join(chunk.text for chunk in shell.stream("for i in {1..20000}; do printf 'äöü€'; done"))
    assert text == "äöü€" * 20000


def test_bytes_that_are_not_text_are_replaced(shell: chiton.Shell) -> None:
    assert shell.run(b"printf 'a\\xffb'").stdout == "a\ufffdb"


def test_threads_share_a_shell_and_nobody_holds_the_interpreter(shell: chiton.Shell, workspace: Path) -> None:
    os.mkfifo(workspace / "meeting")
    results = {}

    def run(name: str, command: str) -> None:
        results[name] = shell.run(command, timeout=30).stdout

    # Each command waits for the other, so both have to run at the same time.
    threads = [
        threading.Thread(target=run, args=("reader", "cat meeting")),
        threading.Thread(target=run, args=("writer", "echo met > meeting")),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {"reader": "met\n", "writer": ""}


def test_ctrl_c_stops_the_command_and_is_raised(shell: chiton.Shell, workspace: Path) -> None:
    os.mkfifo(workspace / "ready")
    pids = []

    def interrupt() -> None:
        pids.append(int((workspace / "ready").read_text()))
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        shell.run("echo $$ > ready; sleep 600")
    thread.join()
    assert not is_there(pids[0])
    assert shell.run("echo still here").stdout == "still here\n"


def test_closing_ends_what_was_left_running(workspace: Path, state: Path) -> None:
    with chiton.Shell(workspace, state_dir=state) as shell:
        result = shell.run("sleep 600 & echo $!")
        pid = int(result.stdout)
        assert is_there(pid) and result.leftovers[0].pid == pid
        assert shell.task(result.leftover_task).running
    assert not is_there(pid)
    shell.close()
    with pytest.raises(chiton.ShellClosed):
        shell.run("true")


def test_a_fork_goes_its_own_way(shell: chiton.Shell) -> None:
    shell.run("cd /usr; A=1")
    with shell.fork() as other:
        other.run("cd /; A=2")
        assert (other.cwd, shell.cwd) == ("/", "/usr")
        assert other.run("echo $A").stdout == "2\n"
    assert shell.run("echo $A").stdout == "1\n"


def test_undo_takes_back_one_command_after_the_other(shell: chiton.Shell, workspace: Path) -> None:
    shell.run("A=1")
    shell.run("A=2; cd /")
    shell.undo()
    assert shell.cwd == str(workspace)
    assert shell.run("echo $A").stdout == "1\n"
    shell.undo(), shell.undo()
    assert shell.run("echo [$A]").stdout == "[]\n"


def test_nothing_to_undo_is_an_error(shell: chiton.Shell) -> None:
    with pytest.raises(chiton.UndoError, match="nothing to undo"):
        shell.undo()
    with pytest.raises(chiton.UndoError, match="shell_00000000"):
        shell.undo("shell_00000000")


def test_a_saved_session_is_continued(shell: chiton.Shell, workspace: Path, state: Path) -> None:
    shell.run("cd /usr; export A=1; f() { echo $A; }")
    shell.save("mine")
    with chiton.Shell(workspace, state_dir=state) as later:
        later.load("mine")
        assert later.cwd == "/usr" and later.run("f").stdout == "1\n"
        with pytest.raises(chiton.StoreError, match="no session 'other'"):
            later.load("other")
        with pytest.raises(chiton.StoreError):
            later.save("../escape")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"timeout": 0}, "timeout of zero"),
        ({"timeout": -1}, "timeout is -1"),
        ({"timeout": float("nan")}, "timeout is NaN"),
        ({"stdin": 5}, "stdin is int"),
        ({"env": {"A": None}}, "the variable A is NoneType"),
    ],
)
def test_a_request_that_makes_no_sense_says_so(shell: chiton.Shell, wrong: dict, said: str) -> None:
    with pytest.raises(chiton.RequestError, match=said) as raised:
        shell.run("true", **wrong)
    assert isinstance(raised.value, ValueError)


def test_a_shell_that_cannot_be_made_says_why(workspace: Path, state: Path) -> None:
    with pytest.raises(chiton.RequestError, match="no guard 'enforced'"):
        chiton.Shell(workspace, state_dir=state, guard="enforced")
    with pytest.raises(chiton.RequestError, match="is not a directory"):
        chiton.Shell(workspace / "nowhere", state_dir=state)
    with pytest.raises(chiton.RequestError, match="is not a program"):
        chiton.Shell(workspace, state_dir=state, program="/nowhere/chiton")


def test_everything_public_is_described() -> None:
    for name in chiton.__all__:
        thing = getattr(chiton, name)
        if inspect.isclass(thing):
            assert thing.__doc__, name
            for part, method in inspect.getmembers(thing, inspect.isfunction):
                own = not part.startswith("_") and method.__module__.startswith("chiton")
                assert not own or method.__doc__, f"{name}.{part}"

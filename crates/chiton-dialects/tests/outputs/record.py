#!/usr/bin/env python3
"""Records the outputs of this folder anew: record.py SCRATCH [STAGE...]

Each stage of stages.py makes its folder in SCRATCH with a setup script, then runs its commands there. What a command prints
is kept as it arrives on its two pipes, in NAME.out; NAME.json says which command it was, how it ended and which lines came
from stderr. Paths, names and hosts of the machine are replaced, nothing else is.
"""

import getpass
import json
import os
import re
import selectors
import socket
import subprocess
import sys
from pathlib import Path

from stages import STAGES

HERE = Path(__file__).resolve().parent
LARGEST = 100_000
# Hosts that may stand in a recording. Whatever registry was really used is replaced by the usual one of its kind.
USUAL = {
    "apt": "deb.debian.org",
    "npm": "registry.npmjs.org",
    "pip": "pypi.org",
    "cargo": "index.crates.io",
    "maven": "repo.maven.apache.org",
}


def environment():
    """What an agent's shell has, and nothing of the person who records."""
    kept = {name: os.environ[name] for name in ("CARGO_HOME", "RUSTUP_HOME", "JAVA_HOME") if name in os.environ}
    path = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    fixed = {"PATH": path, "HOME": os.environ["HOME"], "LANG": "C.UTF-8", "TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat"}
    names = {"GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.org", "GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "ada@example.org"}
    return {**kept, **fixed, **names, "DEBIAN_FRONTEND": "noninteractive"}


def run(command, folder, variables):
    """Runs it and returns its exit code and its output as (stream, bytes) in the order of arrival."""
    process = subprocess.Popen(
        ["bash", "-c", command], cwd=folder, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    pieces = []
    with selectors.DefaultSelector() as selector:
        for stream in (process.stdout, process.stderr):
            os.set_blocking(stream.fileno(), False)
            selector.register(stream, selectors.EVENT_READ)
        while selector.get_map():
            for key, _ in selector.select():
                data = os.read(key.fd, 1 << 20)
                if not data:
                    selector.unregister(key.fileobj)
                else:
                    pieces.append(("err" if key.fileobj is process.stderr else "out", data))
    return process.wait(), pieces


def configured_hosts():
    """The hosts that the package managers of this machine really use, each with the kind of registry that it is."""
    asked = {
        "pip": "python3 -m pip config list; cat /etc/pip.conf ~/.pip/pip.conf ~/.config/pip/pip.conf",
        "npm": "npm config get registry",
        "apt": "cat /etc/apt/sources.list /etc/apt/sources.list.d/*; apt-config dump Acquire",
        "cargo": 'cat "${CARGO_HOME:-$HOME/.cargo}"/config.toml "${CARGO_HOME:-$HOME/.cargo}"/config',
        "maven": "cat ~/.m2/settings.xml /etc/maven/settings.xml",
    }
    hosts = {}
    for kind, command in asked.items():
        text = subprocess.run(["bash", "-c", f"({command}) 2>/dev/null"], capture_output=True, text=True, check=False).stdout
        for host in re.findall(r"https?://(?:[^/@\s\"']*@)?([^/\s\"'<>;]+)", text):
            hosts.setdefault(host, kind)
    return hosts


def scrubber(scratch):
    """A function that takes the machine out of a text."""
    replacements = [(str(scratch), "/home/ada/work"), (os.environ["HOME"] + "/", "/home/ada/")]
    # A name as short as `vm` is a part of many words.
    names = [(socket.gethostname(), "workstation"), (getpass.getuser(), "ada")]
    replacements += [(name, other) for name, other in names if len(name) > 4 and name != "root"]
    for host, kind in configured_hosts().items():
        if not re.search(r"(debian\.org|npmjs\.org|pypi\.org|crates\.io|apache\.org|w3\.org|maven\.org)$", host):
            replacements.append((host, USUAL[kind]))

    def scrub(data):
        for there, here in replacements:
            data = data.replace(there.encode(), here.encode())
        return data

    return scrub


def lines_of_stderr(pieces):
    """The numbers of the lines that have bytes from stderr, counted from 1, as ranges."""
    numbers, line = [], 1
    for stream, data in pieces:
        parts = data.split(b"\n")
        for index, part in enumerate(parts):
            last = index == len(parts) - 1
            if stream == "err" and (part or not last) and (not numbers or numbers[-1] != line):
                numbers.append(line)
            line += not last
    ranges = []
    for number in numbers:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ranges


def record(name, command, folder, variables, scrub):
    code, pieces = run(command, folder, variables)
    # Neighbouring pieces of a stream are one, lest a path that two reads divide be left as it is.
    joined = []
    for stream, data in pieces:
        if joined and joined[-1][0] == stream:
            joined[-1] = (stream, joined[-1][1] + data)
        else:
            joined.append((stream, data))
    joined = [(stream, scrub(data)) for stream, data in joined]
    output = b"".join(data for _, data in joined)
    if len(output) > LARGEST:
        print(f"{name}: {len(output)} bytes are too many, not kept", file=sys.stderr)
        return
    about = {"command": scrub(command.encode()).decode(), "exit": code, "stderr": lines_of_stderr(joined)}
    (HERE / f"{name}.out").write_bytes(output)
    (HERE / f"{name}.json").write_text(json.dumps(about) + "\n")
    print(f"{name}: {len(output)} bytes, exit {code}", file=sys.stderr)


def main():
    scratch = Path(sys.argv[1]).resolve()
    wanted, only = sys.argv[2:], None
    if wanted and wanted[0] == "--only":
        wanted, only = [], set(wanted[1:])
    scrub = scrubber(scratch)
    for stage in STAGES:
        if wanted and stage.name not in wanted:
            continue
        if only and not only & {name for name, _ in stage.recordings}:
            continue
        folder = scratch / stage.name
        variables = environment() | {name: value.replace("HERE", str(folder)) for name, value in stage.variables.items()}
        if not folder.exists():
            folder.mkdir(parents=True)
            setup = subprocess.run(["bash", "-e", "-c", stage.setup], cwd=folder, env=variables, check=False, capture_output=True)
            if setup.returncode:
                print(f"the setup of {stage.name} failed:\n{(setup.stdout + setup.stderr).decode()[-3000:]}", file=sys.stderr)
        for name, command in stage.recordings:
            if not only or name in only:
                record(name, command, folder, variables, scrub)


main()

"""The program `chiton`, which keeps the commands that this library runs, and knows the sandbox profiles."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Optional, Sequence

from .errors import NotStarted, RequestError


def find_program(given: Optional[str] = None) -> str:
    """The program: the given one, the one that came with this package, or the one on the PATH."""
    if given is not None:
        if not os.access(given, os.X_OK):
            raise RequestError(f"{given} is not a program: give the path of `chiton`, or none")
        return os.path.abspath(given)
    packaged = Path(__file__).with_name("_bin") / "chiton"
    if os.access(packaged, os.X_OK):
        return str(packaged)
    found = shutil.which("chiton")
    if found is None:
        raise NotStarted(
            f"the program chiton is neither at {packaged} nor on the PATH: install this package from a wheel, or name the"
            " program with program="
        )
    return os.path.abspath(found)


def sandbox_policy(program: str, profile: Optional[str], directory: str, state_dir: str, added: Sequence[str]) -> Optional[str]:
    """The policy that a profile is for commands in a directory; `None` where nothing holds them."""
    if profile is None or profile == "off":
        return None
    words = [program, "--state-dir", state_dir, "sandbox", "show", "--policy"]
    words += [word for path in added for word in ("--add-dir", path)] + ["--", profile]
    # The program looks at PWD first, to name a directory as the user does.
    shown = subprocess.run(words, cwd=directory, env=dict(os.environ, PWD=directory), capture_output=True, text=True, check=False)
    if shown.returncode != 0:
        raise RequestError(shown.stderr.strip().removeprefix("chiton: ") or f"there is no sandbox profile {profile}")
    return shown.stdout

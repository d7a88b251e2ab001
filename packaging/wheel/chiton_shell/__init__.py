"""The program `chiton`, found from Python. `uvx chiton-shell mcp` and `python -m chiton_shell mcp` start it by this name."""

import os
import sys
import sysconfig
from pathlib import Path


def find_program() -> Path:
    """Where pip has put the program."""
    folders = [
        sysconfig.get_path("scripts"),
        sysconfig.get_path("scripts", scheme="posix_user"),
        # `pip install --target`
        Path(__file__).resolve().parent.parent / "bin",
    ]
    for folder in folders:
        program = Path(folder, "chiton")
        if program.is_file():
            return program
    looked = ", ".join(str(folder) for folder in folders)
    raise FileNotFoundError(f"the program of the package chiton-shell is in none of {looked}: install the package again")


def main() -> None:
    """Becomes the program, with the arguments of this process."""
    program = find_program()
    os.execv(program, ["chiton", *sys.argv[1:]])

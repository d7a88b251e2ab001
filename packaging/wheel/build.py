"""Makes a wheel of the program: `pip install` of it puts `chiton` on the PATH.

Usage: build.py VERSION PROCESSOR FOLDER OUTPUT [NAME=PROGRAM…]

FOLDER is the unpacked archive of `cargo xtask dist`. Each PROGRAM is one for another processor, which `chiton run --on` finds
as libexec/chiton/NAME and carries to machines that have it. Only the standard library is used, and the same files give the same wheel.
"""

import base64
import hashlib
import os
import stat
import sys
import time
import zipfile
from pathlib import Path

METADATA = """\
Metadata-Version: 2.4
Name: chiton-shell
Version: {version}
Summary: The shell that AI agents use: an MCP server and a command line
License-Expression: MIT OR Apache-2.0
License-File: LICENSE-APACHE
License-File: LICENSE-MIT
License-File: THIRD-PARTY.txt
Project-URL: Source, https://github.com/chiton-shell/chiton
Classifier: Environment :: Console
Classifier: Operating System :: POSIX :: Linux
Requires-Python: >=3.8
Description-Content-Type: text/markdown

{description}"""

# The program holds its C library, so every Linux will do: those with glibc, of whatever version pip still knows, and those
# with musl.
SYSTEMS = ["manylinux_2_17", "manylinux2014", "musllinux_1_1"]

# The registry of MCP servers looks for this line, to see that both belong to the same people.
MCP_NAME = "mcp-name: io.github.chiton-shell/chiton"


def main() -> None:
    version, processor, folder, output = sys.argv[1], sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4])
    tags = [f"py3-none-{system}_{processor}" for system in SYSTEMS]
    info = f"chiton_shell-{version}.dist-info"
    metadata = METADATA.format(version=version, description=(folder / "README.md").read_text() + f"\n<!-- {MCP_NAME} -->\n")

    files: list[tuple[str, bytes, int]] = [
        (f"chiton_shell-{version}.data/scripts/chiton", (folder / "chiton").read_bytes(), 0o755),
        (f"{info}/METADATA", metadata.encode(), 0o644),
        (f"{info}/WHEEL", wheel(tags).encode(), 0o644),
        (f"{info}/entry_points.txt", b"[console_scripts]\nchiton-shell = chiton_shell:main\n", 0o644),
    ]
    for other in sys.argv[5:]:
        name, program = other.split("=", 1)
        files.append((f"chiton_shell-{version}.data/data/libexec/chiton/{name}", Path(program).read_bytes(), 0o755))
    for module in sorted((Path(__file__).parent / "chiton_shell").glob("*.py")):
        files.append((f"chiton_shell/{module.name}", module.read_bytes(), 0o644))
    for name in ["LICENSE-APACHE", "LICENSE-MIT", "THIRD-PARTY.txt"]:
        files.append((f"{info}/licenses/{name}", (folder / name).read_bytes(), 0o644))
    files.append((f"{info}/RECORD", record(files, f"{info}/RECORD").encode(), 0o644))

    systems = ".".join(f"{system}_{processor}" for system in SYSTEMS)
    path = output / f"chiton_shell-{version}-py3-none-{systems}.whl"
    write(path, files)
    print(path)


def wheel(tags: list[str]) -> str:
    lines = ["Wheel-Version: 1.0", "Generator: chiton", "Root-Is-Purelib: false", *(f"Tag: {tag}" for tag in tags)]
    return "\n".join(lines) + "\n"


def record(files: list[tuple[str, bytes, int]], own: str) -> str:
    def row(name: str, content: bytes) -> str:
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        return f"{name},sha256={digest},{len(content)}\n"

    return "".join(row(name, content) for name, content, _ in files) + f"{own},,\n"


def write(path: Path, files: list[tuple[str, bytes, int]]) -> None:
    moment = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", "315532800")))[:6]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content, mode in files:
            entry = zipfile.ZipInfo(name, moment)
            entry.external_attr = (stat.S_IFREG | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            # As on Linux, wherever it was made.
            entry.create_system = 3
            archive.writestr(entry, content)


if __name__ == "__main__":
    main()

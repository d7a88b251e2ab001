"""What is sent to the native part: each class is read there, attribute by attribute."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Mapping, Optional, Tuple, Union

from .errors import RequestError

Text = Union[str, bytes]


@dataclass
class Setting:
    state_dir: str
    directory: str
    environment: "dict[str, bytes]"
    umask: int
    name: Optional[str]
    program: str
    config_dir: str
    data_dir: str
    home: str
    user: str
    guard: str
    sandbox: Optional[str]
    timeout: Optional[float]
    max_tasks: Optional[int]


@dataclass
class Request:
    command: bytes
    timeout: Optional[float] = None
    silence: Optional[float] = None
    grace: Optional[float] = None
    directory: Optional[str] = None
    environment: "dict[str, bytes]" = field(default_factory=dict)
    stdin: Optional[bytes] = None
    open_stdin: bool = False
    terminal: Optional[Tuple[int, int]] = None
    preview: bool = False
    durable: bool = False
    max_output: Optional[int] = None
    description: Optional[str] = None


@dataclass
class Reading:
    cursor: Tuple[int, int]
    part: str
    lines: int = 0
    stream: Optional[str] = None
    grep: Optional[str] = None
    limit: int = 2**63


@dataclass
class Waiting:
    cursor: Tuple[int, int]
    pattern: Optional[str] = None
    idle: Optional[float] = None
    bytes: Optional[int] = None
    port: Optional[int] = None
    input: bool = False
    timeout: Optional[float] = None


def as_bytes(what: str, text: Text) -> bytes:
    """A text as the shell reads it. Bytes that `os` could not decode come back as they were."""
    if isinstance(text, bytes):
        return text
    if isinstance(text, str):
        return text.encode("utf-8", "surrogateescape")
    raise RequestError(f"{what} is {type(text).__name__}; it has to be str or bytes")


def as_environment(variables: Optional[Mapping[str, Text]]) -> "dict[str, bytes]":
    return {name: as_bytes(f"the variable {name}", value) for name, value in (variables or {}).items()}


def as_path(path: Union[str, "os.PathLike[str]", None]) -> Optional[str]:
    return None if path is None else os.path.abspath(os.fspath(path))

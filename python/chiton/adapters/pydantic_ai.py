"""A shell as a tool for Pydantic AI."""

from __future__ import annotations

from pydantic_ai import Tool

from .._async_shell import AsyncShell
from . import DESCRIPTION, NAME, TIMEOUT, for_model


def shell_tool(shell: AsyncShell, *, name: str = NAME, description: str = DESCRIPTION) -> "Tool[object]":
    """The tool. A cancelled run stops its command."""

    async def run(command: str, timeout: float = TIMEOUT) -> str:
        return for_model(await shell.run(command, timeout=timeout))

    return Tool(run, takes_ctx=False, name=name, description=description)

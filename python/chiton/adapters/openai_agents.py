"""A shell as a tool for the OpenAI Agents SDK."""

from __future__ import annotations

from agents import FunctionTool, function_tool

from .._async_shell import AsyncShell
from . import DESCRIPTION, NAME, TIMEOUT, for_model


def shell_tool(shell: AsyncShell, *, name: str = NAME, description: str = DESCRIPTION) -> FunctionTool:
    """The tool. A cancelled run stops its command."""

    async def run(command: str, timeout: float = TIMEOUT) -> str:
        return for_model(await shell.run(command, timeout=timeout))

    return function_tool(run, name_override=name, description_override=description)

"""A shell as a tool for LangChain and LangGraph."""

from __future__ import annotations

from typing import Union

from langchain_core.tools import BaseTool, StructuredTool

from .._async_shell import AsyncShell
from .._shell import Shell
from . import DESCRIPTION, NAME, TIMEOUT, for_model


def shell_tool(shell: Union[Shell, AsyncShell], *, name: str = NAME, description: str = DESCRIPTION) -> BaseTool:
    """The tool. With an `AsyncShell` it can only be awaited, and a cancelled run stops its command."""
    if isinstance(shell, AsyncShell):

        async def run_async(command: str, timeout: float = TIMEOUT) -> str:
            return for_model(await shell.run(command, timeout=timeout))

        return StructuredTool.from_function(coroutine=run_async, name=name, description=description)

    def run(command: str, timeout: float = TIMEOUT) -> str:
        return for_model(shell.run(command, timeout=timeout))

    return StructuredTool.from_function(func=run, name=name, description=description)

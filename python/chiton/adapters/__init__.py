"""A shell as a tool of agent frameworks. Each module needs its framework, which this package does not install by itself:

- `chiton.adapters.langchain`: `pip install chiton[langchain]`
- `chiton.adapters.openai_agents`: `pip install chiton[openai-agents]`
- `chiton.adapters.pydantic_ai`: `pip install chiton[pydantic-ai]`
"""

from __future__ import annotations

from .._results import Result

NAME = "shell"

DESCRIPTION = (
    "Run a bash command and get its output. The session lasts: the working directory, variables and functions that a command"
    " sets are there for the next one. There is no terminal and nobody to type, so use options that do not ask."
)

TIMEOUT = 120.0
"""Seconds that a command may take where the model names no other time."""


def for_model(result: Result) -> str:
    """A result as a model reads it: the output, and after it what the output does not say."""
    said = []
    if result.outcome == "refused":
        said.append(f"[refused, nothing was run: {result.reason}]")
    elif result.outcome == "timed_out":
        said.append(f"[timed out after {result.duration:.0f} s and stopped]")
    elif result.outcome == "exited":
        if result.exit_code != 0:
            said.append(f"[exit code {result.exit_code}]")
    else:
        said.append(f"[{result.outcome}{f' by {result.signal}' if result.signal else ''}]")
    said += [f"[{notice}]" for notice in result.notices]
    if not result.output and not said:
        return "[no output]"
    break_line = "\n" if result.output and not result.output.endswith("\n") and said else ""
    return result.output + break_line + "\n".join(said)

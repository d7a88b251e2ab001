"""The adapters, each with a model of its framework that plays a script."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, AsyncIterator

import pytest
import pytest_asyncio

import chiton
from chiton.adapters import for_model


@pytest_asyncio.fixture
async def shell(workspace: Path, state: Path) -> AsyncIterator[chiton.AsyncShell]:
    async with chiton.AsyncShell(workspace, state_dir=state) as shell:
        yield shell


def test_a_model_reads_what_the_output_does_not_say() -> None:
    result = chiton.Result
    assert for_model(result("exited", exit_code=0, output="fine\n")) == "fine\n"
    assert for_model(result("exited", exit_code=0)) == "[no output]"
    assert for_model(result("exited", exit_code=2, output="oh")) == "oh\n[exit code 2]"
    assert for_model(result("timed_out", duration=5.2, output="x\n")) == "x\n[timed out after 5 s and stopped]"
    assert for_model(result("signaled", signal="SIGSEGV")) == "[signaled by SIGSEGV]"
    assert for_model(result("refused", reason="no")) == "[refused, nothing was run: no]"


async def test_langchain_with_asyncio(shell: chiton.AsyncShell) -> None:
    pytest.importorskip("langchain_core", reason="langchain-core is not installed")
    from chiton.adapters.langchain import shell_tool
    from langchain_core.messages import ToolCall

    tool = shell_tool(shell)
    assert tool.name == "shell" and set(tool.args) == {"command", "timeout"}
    call = ToolCall(name="shell", args={"command": "cd /usr; echo hello; exit 2"}, id="1", type="tool_call")
    message = await tool.ainvoke(call)
    assert message.content == "hello\n[exit code 2]" and message.tool_call_id == "1"
    assert shell.cwd == "/usr"


def test_langchain_with_its_fake_model(workspace: Path, state: Path) -> None:
    pytest.importorskip("langchain_core", reason="langchain-core is not installed")
    from chiton.adapters.langchain import shell_tool
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage, HumanMessage

    asks = AIMessage("", tool_calls=[{"name": "shell", "args": {"command": "echo from a tool"}, "id": "1"}])
    model = GenericFakeChatModel(messages=iter([asks, AIMessage("done")]))
    with chiton.Shell(workspace, state_dir=state) as shell:
        tool = shell_tool(shell)
        messages: list = [HumanMessage("go")]
        messages.append(model.invoke(messages))
        messages += [tool.invoke(call) for call in messages[-1].tool_calls]
        assert messages[-1].content == "from a tool\n"
        assert model.invoke(messages).content == "done"


async def test_openai_agents_with_a_model_that_plays_a_script(shell: chiton.AsyncShell) -> None:
    agents = pytest.importorskip("agents", reason="openai-agents is not installed")
    from agents.models.interface import Model
    from chiton.adapters.openai_agents import shell_tool
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

    agents.set_tracing_disabled(True)
    seen: list = []

    class Scripted(Model):
        async def get_response(self, system_instructions: Any, input: Any, *rest: Any, **more: Any) -> Any:
            seen.append(input)
            if len(seen) == 1:
                arguments = json.dumps({"command": "echo from a tool; exit 3"})
                output: Any = ResponseFunctionToolCall(
                    call_id="1", name="shell", arguments=arguments, type="function_call"
                )
            else:
                text = ResponseOutputText(text="done", type="output_text", annotations=[])
                output = ResponseOutputMessage(
                    id="2", content=[text], role="assistant", status="completed", type="message"
                )
            return agents.ModelResponse(output=[output], usage=agents.Usage(), response_id=None)

        def stream_response(self, *rest: Any, **more: Any) -> Any:
            raise NotImplementedError

    agent = agents.Agent(name="tester", model=Scripted(), tools=[shell_tool(shell)])
    outcome = await agents.Runner.run(agent, "go")
    assert outcome.final_output == "done"
    assert [item["output"] for item in seen[1] if item.get("type") == "function_call_output"] == ["from a tool\n[exit code 3]"]


async def test_pydantic_ai_with_its_function_model(shell: chiton.AsyncShell) -> None:
    pytest.importorskip("pydantic_ai", reason="pydantic-ai is not installed")
    from chiton.adapters.pydantic_ai import shell_tool
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import FunctionModel

    def play(messages: Any, info: Any) -> ModelResponse:
        returned = [part for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
        if not returned:
            return ModelResponse(parts=[ToolCallPart("shell", {"command": "echo from a tool"})])
        return ModelResponse(parts=[TextPart(f"it said {returned[0].content}")])

    agent = Agent(FunctionModel(play), tools=[shell_tool(shell)])
    assert (await agent.run("go")).output == "it said from a tool\n"


async def test_a_cancelled_agent_stops_its_command(shell: chiton.AsyncShell, workspace: Path) -> None:
    pytest.importorskip("pydantic_ai", reason="pydantic-ai is not installed")
    from chiton.adapters.pydantic_ai import shell_tool
    from conftest import is_there
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, ToolCallPart
    from pydantic_ai.models.function import FunctionModel
    import os

    os.mkfifo(workspace / "ready")
    command = {"command": "echo $$ > ready; sleep 600"}
    model = FunctionModel(lambda messages, info: ModelResponse(parts=[ToolCallPart("shell", command)]))
    running = asyncio.create_task(Agent(model, tools=[shell_tool(shell)]).run("go"))
    pid = int(await asyncio.to_thread((workspace / "ready").read_text))
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not is_there(pid)

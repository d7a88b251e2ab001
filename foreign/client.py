"""A session by the Python package `mcp`: start, background, output, kill. Over stdio and HTTP, old and new revision.

    client.py PROGRAM STATE_DIRECTORY
"""

import asyncio
import os
import re
import subprocess
import sys

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

PROGRAM, STATE = sys.argv[1:3]


def text(result):
    return result.content[0].text


async def session(client, what):
    names = [tool.name for tool in (await client.list_tools()).tools]
    assert names == ["Bash", "BashOutput", "BashInput", "KillShell", "ListShells"], names
    result = await client.call_tool("Bash", {"command": "cd /usr; export COLOUR=green; echo hello"})
    assert "hello" in text(result) and not result.is_error, result
    result = await client.call_tool("Bash", {"command": "echo $PWD $COLOUR; exit 3"})
    assert "/usr green" in text(result) and result.structured_content["exit_code"] == 3, result
    result = await client.call_tool(
        "Bash", {"command": "echo ready; exec sleep 600", "run_in_background": True}
    )
    task = result.structured_content["bash_id"]
    result = await client.call_tool("BashOutput", {"bash_id": task, "wait_for": "ready", "wait": 10000})
    assert "ready" in text(result), result
    result = await client.call_tool("KillShell", {"bash_id": task})
    assert "terminated" in text(result), result
    result = await client.call_tool("BashOutput", {"bash_id": task})
    assert result.structured_content["status"] == "killed", result
    result = await client.call_tool("Bash", {})
    assert result.is_error and "command" in text(result), result
    told = []

    async def hear(progress, total, message):
        told.append(message)

    await client.call_tool("Bash", {"command": "echo one; sleep 0.3; echo two"}, progress_callback=hear)
    assert "one\n" in "".join(told), told
    resource = await client.read_resource(f"chiton://runs/{task}/output")
    assert resource.contents[0].text == "ready\n", resource
    print(f"python mcp, {what}: ok")


async def main():
    for mode in ("legacy", "2026-07-28"):
        server = StdioServerParameters(command=PROGRAM, args=["--state-dir", STATE, "mcp"], env=dict(os.environ))
        async with Client(server, mode=mode) as client:
            await session(client, f"stdio, {mode}")
    serving = subprocess.Popen(
        [PROGRAM, "--state-dir", STATE, "mcp", "--http", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True
    )
    try:
        url, file = re.search(r"serving at (\S+); the token is in (.*)", serving.stderr.readline()).groups()
        headers = {"Authorization": f"Bearer {open(file).read()}"}
        for mode in ("legacy", "2026-07-28"):
            async with httpx2.AsyncClient(headers=headers, timeout=30) as http:
                async with Client(streamable_http_client(url, http_client=http), mode=mode) as client:
                    await session(client, f"HTTP, {mode}")
    finally:
        serving.terminate()
        serving.wait()


asyncio.run(main())

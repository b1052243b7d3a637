"""RoboDx's client is answered by a server on openpi's own codec, which does as openpi's server does."""

from __future__ import annotations

import asyncio
import json
import subprocess
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import websockets.asyncio.server
import websockets.exceptions
from openpi_client import msgpack_numpy

PYTHON = Path(__file__).parents[3] / ".venv" / "bin" / "python"
ASK = Path(__file__).with_name("ask_as_robodx.py")


@contextmanager
def openpi_server(infer: Callable[[Any], Any]) -> Iterator[int]:
    """Metadata first; then one frame in, one out; a traceback as text and the end where it fails."""
    started: list[Any] = []
    ready = threading.Event()

    async def handle(connection: websockets.asyncio.server.ServerConnection) -> None:
        packer = msgpack_numpy.Packer()
        await connection.send(packer.pack({"reset_pose": [0.0, 1.0]}))
        while True:
            try:
                seen = msgpack_numpy.unpackb(await connection.recv())
                await connection.send(packer.pack({**infer(seen), "server_timing": {"infer_ms": 1.0}}))
            except websockets.exceptions.ConnectionClosed:
                return
            except Exception:
                await connection.send(traceback.format_exc())
                await connection.close(1011, "Internal server error. Traceback included in previous frame.")
                return

    async def main() -> None:
        stop = asyncio.Event()
        async with websockets.asyncio.server.serve(handle, "127.0.0.1", 0, compression=None, max_size=None) as server:
            port = next(iter(server.sockets)).getsockname()[1]
            started.extend([port, asyncio.get_running_loop(), stop])
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: asyncio.run(main()))
    thread.start()
    assert ready.wait(10)
    port, loop, stop = started
    try:
        yield port
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()


def ask(port: int, *names: str) -> list[Any]:
    """What RoboDx makes of the server's answers to a query for each name."""
    command = [str(PYTHON), str(ASK), f"openpi://127.0.0.1:{port}?timeout=20", "droid", *names]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    answers: list[Any] = json.loads(done.stdout)
    return answers


def test_openpis_server_sees_droids_observations_and_its_actions_are_understood() -> None:
    requests: list[Any] = []
    # Half speed in DROID's unit, and a gripper that closes.
    actions = np.tile([0.5] * 7 + [0.9], (10, 1))

    def infer(seen: Any) -> Any:
        requests.append(seen)
        return {"actions": actions, "policy_timing": {"infer_ms": np.float64(1.5)}}

    with openpi_server(infer) as port:
        (chunk,) = ask(port, "stack the cubes")
    (seen,) = requests
    assert seen["prompt"] == "stack the cubes"
    for key in ("observation/exterior_image_1_left", "observation/wrist_image_left"):
        assert seen[key].shape == (224, 224, 3) and seen[key].dtype == np.uint8
        assert not seen[key][:49].any() and seen[key][49:175].all() and not seen[key][175:].any()
    assert seen["observation/joint_position"].shape == (7,) and seen["observation/gripper_position"].shape == (1,)
    assert set(seen) == {
        "observation/exterior_image_1_left", "observation/wrist_image_left",
        "observation/joint_position", "observation/gripper_position", "prompt",
    }  # fmt: skip
    assert np.allclose(chunk, [[1.5] * 7 + [0.0]] * 10)


def test_several_at_once_are_answered_in_turn_and_a_failure_is_that_of_its_own() -> None:
    def infer(seen: Any) -> Any:
        if seen["prompt"] == "bad":
            raise ValueError("no such plan")
        return {"actions": np.full((1, 8), len(seen["prompt"]) / 10, np.float32)}

    names = ["a", "bb", "bad", "dddd", *("e" * n for n in range(5, 15))]
    with openpi_server(infer) as port:
        answers = ask(port, *names)
    for name, answer in zip(names, answers, strict=True):
        if name == "bad":
            assert "no such plan" in answer and "WireError" in answer
        else:
            assert np.allclose(answer[0][:7], 3 * len(name) / 10)

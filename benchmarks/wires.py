"""How fast the wires are: calls a second on the loopback, against vla-eval's own client and server.

Each call carries two uncompressed pictures of 128×128 and a state of 8 numbers, one call at a time, and is answered by
a policy that does nothing, in another process. All is measured in one invocation and in turns: the ratios are what is
reported. JSON goes to .cache/bench-wires.json.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from robodx.running.threads import pin

pin()

# ruff: noqa: E402  (threads are pinned before numpy is imported)
import numpy as np

from robodx.policy_contract import ActionChunk, CameraRequest, EpisodeStart, Observation, PolicySpec
from robodx.wires.preset import native
from robodx.wires.protocols.base import PROTOCOLS, served_protocols
from robodx.wires.serving import Endpoint

CAMERAS = ("front", "wrist")
CHUNK = np.zeros((8, 8), np.float32)
STATE = np.linspace(0, 1, 8, dtype=np.float32)
PEER = "vla-eval's own"
# Of what was promised of RoboDx's wires over the peer.
GOAL = 1.3
PROMISED = ("openpi", "vla-eval")
CACHE = Path(__file__).parent.parent / ".cache"


class Nothing:
    """The same chunk whatever it sees."""

    spec = PolicySpec(
        action_space="joint", cameras=tuple(CameraRequest(name) for name in CAMERAS), state=("joint_positions",)
    )

    def reset(self, starts: Sequence[EpisodeStart]) -> None: ...

    def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk]:
        return [CHUNK] * len(observations)

    def finish(self, ids: Sequence[str]) -> None: ...


def pictures() -> list[np.ndarray[Any, np.dtype[np.uint8]]]:
    rng = np.random.default_rng(0)
    return [rng.integers(0, 256, (128, 128, 3), dtype=np.uint8) for _ in CAMERAS]


# In the other process.


def serve(name: str) -> None:
    if name == PEER:
        _serve_peer()
        return
    protocol = PROTOCOLS[name]
    assert protocol.serve is not None
    protocol.serve(Endpoint(Nothing(), names=protocol.names), "127.0.0.1", 0, _say)


def _say(port: int) -> None:
    print(port, flush=True)


def _serve_peer() -> None:
    import vla_eval
    from vla_eval.model_servers.predict import PredictModelServer

    class NothingServer(PredictModelServer):  # type: ignore[misc]  # vla-eval has no types
        def predict(self, obs: Any, ctx: Any) -> dict[str, Any]:
            return {"actions": CHUNK}

    with vla_eval.serve_background(NothingServer()) as server:
        _say(server.port)
        sys.stdin.read()


@contextmanager
def another_process(name: str) -> Iterator[int]:
    command = [sys.executable, __file__, "--serve", name]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline())
        finally:
            process.kill()


# In this one: each client is a function that makes so many calls.


@contextmanager
def our_client(name: str) -> Iterator[Callable[[int], None]]:
    protocol = PROTOCOLS[name]
    observation = Observation(
        "one", 0, 0.0, "stack the cubes", {"joint_positions": STATE}, dict(zip(CAMERAS, pictures(), strict=True))
    )
    preset = native(Nothing.spec, protocol.names)
    request = preset.request(observation, EpisodeStart("one", 0, "", "", 0, 0, "stack the cubes"))
    with another_process(name) as port:
        wire = protocol.open_wire(f"//127.0.0.1:{port}")
        wire.describe()
        wire.start("one", "stack the cubes")

        def call(count: int) -> None:
            for _ in range(count):
                (reply,) = wire.ask([("one", request)])
                if isinstance(reply, Exception) or reply[protocol.names.actions].shape != CHUNK.shape:
                    raise RuntimeError(f"{name} answered {reply}")

        yield call
        wire.close()


@contextmanager
def peer_client() -> Iterator[Callable[[int], None]]:
    from vla_eval.connection import Connection
    from vla_eval.protocol.numpy_codec import set_image_format

    set_image_format("raw")
    observation = {
        "images": dict(zip(CAMERAS, pictures(), strict=True)), "state": STATE, "task_description": "stack the cubes",
    }  # fmt: skip
    with another_process(PEER) as port, asyncio.Runner() as runner:
        connection = Connection(f"ws://127.0.0.1:{port}")
        runner.run(connection.connect())
        runner.run(connection.start_episode({"task": {"name": "stack the cubes"}}))

        async def calls(count: int) -> None:
            for _ in range(count):
                reply = await connection.act(observation)
                if reply["actions"].shape != CHUNK.shape:
                    raise RuntimeError(f"{PEER} answered {reply}")

        yield lambda count: runner.run(calls(count))
        runner.run(connection.close())


def rate(call: Callable[[int], None], count: int = 200) -> float:
    start = time.perf_counter()
    call(count)
    return count / (time.perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0, help="how long is measured in all")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a goal is missed")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        serve(arguments.serve)
        return
    with ExitStack() as stack:
        clients = {name: stack.enter_context(our_client(name)) for name in served_protocols()}
        clients[PEER] = stack.enter_context(peer_client())
        rates: dict[str, list[float]] = {name: [] for name in clients}
        for call in clients.values():
            call(200)  # warm up
        end = time.perf_counter() + arguments.seconds
        while time.perf_counter() < end or len(rates[PEER]) < 5:
            for name, call in clients.items():
                rates[name].append(rate(call))
    medians = {name: statistics.median(several) for name, several in rates.items()}
    ratios = {name: medians[name] / medians[PEER] for name in served_protocols()}
    is_missed = {name: ratios[name] < GOAL for name in PROMISED}
    print("calls a second, two raw pictures of 128×128 and 8 numbers")
    for name, median in medians.items():
        compared = f"{ratios[name]:8.2f} × {PEER}" if name in ratios else ""
        verdict = f"   goal {GOAL:.2f}   {'MISSED' if is_missed[name] else 'ok'}" if name in is_missed else ""
        print(f"{name:16} {median:8.0f} {compared}{verdict}")
    CACHE.mkdir(exist_ok=True)
    report = {"calls_per_s": medians, "over_the_peer": ratios, "goal": GOAL}
    (CACHE / "bench-wires.json").write_text(json.dumps(report, indent=2))
    print(f"\nWrote {CACHE / 'bench-wires.json'}")
    if arguments.strict and any(is_missed.values()):
        sys.exit(1)


if __name__ == "__main__":
    main()

# /// script
# requires-python = ">=3.12"
# dependencies = ["lerobot[diffusion,pi,smolvla]==0.6.1", "msgpack>=1.1", "numpy>=2.0", "websockets>=15"]
# ///
"""Serves a LeRobot checkpoint on openpi's websocket protocol.

One file that needs nothing of RoboDx: copy it to the machine with the GPU, and run it with its own dependencies.

    uv run lerobot_server.py CHECKPOINT --port 8000
"""

from __future__ import annotations

import argparse
import asyncio
import copy
import hashlib
import json
import logging
import os
import sys
import threading
import traceback
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import msgpack
import numpy as np
from numpy.typing import NDArray

Request = Mapping[str, Any]
Reply = dict[str, NDArray[np.float32]]

MAX_REQUEST_BYTES = 256 * 2**20
# Maps and lists of a request and items in each, letters of a name, and of an error that is sent.
MAX_ITEMS, MAX_NAME, MAX_ERROR = 100_000, 200, 20_000
# The types of numbers, which are looked up: numpy would parse a text of megabytes for minutes.
KINDS = ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
DTYPES = {f"{order}{kind}": np.dtype(f"{order}{kind}") for kind in KINDS for order in "<>|"}
MAX_EPISODES = 1024  # whose past is kept: clients do not say that one has ended
# Under this key RoboDx tells which episode and which step a request is of.
EPISODE = "robodx"
ACTION, TASK, IMAGES = "action", "task", "observation.images"
# LeRobot's policies that take no words.
WORDLESS = ("act", "diffusion", "vqbet")
# What a preprocessor saved by another device must be told.
DEVICE_STEP = "device_processor"
REFUSED = {
    "tdmpc": "it plans from its own last plan, which is lost when several episodes share it",
    **dict.fromkeys(("sac", "gaussian_actor"), "it predicts no chunks of actions"),
    **dict.fromkeys(("reward_classifier", "sarm"), "it rewards, and does not act"),
}


class Refused(ValueError):
    """A checkpoint that cannot be used, or a request that cannot be answered; the message says why."""


@dataclass
class Past:
    """What a policy that looks back must know of an episode."""

    step: int
    seen: deque[Request]
    planned: deque[NDArray[np.float32]] = field(default_factory=deque)  # predicted and not yet executed
    ensembler: Any = None  # of ACT with temporal ensembling


class Checkpoint:
    """A policy with the processors that it was trained with; answers several requests as one batch."""

    def __init__(self, folder: Path | str, device: str | None = None) -> None:
        import torch
        from lerobot.policies.factory import get_policy_class, make_pre_post_processors

        # After the factory, which makes the types of policies known.
        from lerobot.configs.policies import PreTrainedConfig  # isort: skip

        for name in ("config.json", "policy_preprocessor.json", "policy_postprocessor.json"):
            if not (Path(folder) / name).is_file():
                raise Refused(
                    f"{folder} has no {name}: is it a checkpoint? Those of old LeRobots are brought up to date with "
                    "python -m lerobot.processor.migrate_policy_normalization"
                )
        self._torch = torch
        self._config = PreTrainedConfig.from_pretrained(
            str(folder), cli_overrides=[f"--device={device}"] if device else []
        )
        if self._config.type in REFUSED:
            raise Refused(f"{folder} is of type {self._config.type}: {REFUSED[self._config.type]}")
        # LeRobot would take another device instead, with a warning.
        if device and self._config.device != device:
            raise Refused(f"there is no device {device} here; LeRobot suggests {self._config.device}")
        # The checkpoint has the backbone's weights: they need not be fetched first.
        if hasattr(self._config, "pretrained_backbone_weights"):
            self._config.pretrained_backbone_weights = None
        self._policy = get_policy_class(self._config.type).from_pretrained(str(folder), config=self._config)
        self._policy.eval()
        saved = json.loads((Path(folder) / "policy_preprocessor.json").read_text())
        steps = {step.get("registry_name") for step in saved.get("steps", [])}
        overrides = {DEVICE_STEP: {"device": self._config.device}} if DEVICE_STEP in steps else {}
        self._prepare, self._finish = make_pre_post_processors(
            self._config, pretrained_path=str(folder), preprocessor_overrides=overrides
        )
        self._moments = int(self._config.n_obs_steps)
        self._ensembles = getattr(self._config, "temporal_ensemble_coeff", None) is not None
        self._uses_language = self._config.type not in WORDLESS
        executed = getattr(self._config, "n_action_steps", 0) or getattr(self._config, "action_chunk_size", 1)
        self._executed = int(executed)
        self._pasts: OrderedDict[str, Past] = OrderedDict()

    @property
    def looks_back(self) -> bool:
        """Whether it must be asked at every step. It then answers one action at a time, as LeRobot's own queue does."""
        return self._moments > 1 or self._ensembles

    @property
    def about(self) -> dict[str, Any]:
        """For the greeting: what must be sent, and what comes back."""
        import lerobot

        config = self._config
        return {
            "lerobot": {
                "version": lerobot.__version__,
                "type": config.type,
                "device": str(config.device),
                "inputs": {key: [one.type.value, list(one.shape)] for key, one in self._inputs().items()},
                "outputs": {key: [one.type.value, list(one.shape)] for key, one in config.output_features.items()},
                "n_obs_steps": self._moments,
                "n_action_steps": self._executed,
                "looks_back": self.looks_back,
                "uses_language": self._uses_language,
            }
        }

    def answer(self, requests: Sequence[Request]) -> list[Reply | Exception]:
        """A chunk of actions for each, or what is wrong with that one."""
        replies: list[Reply | Exception] = [Refused("not answered")] * len(requests)
        asking: list[int] = []
        for index, request in enumerate(requests):
            try:
                self._check(request)
                if self.looks_back:
                    self._remember(request)
                asking.append(index)
            except Refused as error:
                replies[index] = error
        if self.looks_back:
            self._answer_one_by_one(requests, asking, replies)
        elif asking:
            chunks = self._finished(self._predict([[requests[index]] for index in asking]))
            for index, chunk in zip(asking, chunks, strict=True):
                replies[index] = {ACTION: chunk}
        return replies

    def _inputs(self) -> dict[str, Any]:
        """Cameras that a policy was made for and trained without are filled in by the policy itself."""
        return {key: one for key, one in self._config.input_features.items() if ".empty_camera_" not in key}

    def _check(self, request: Request) -> None:
        for key, one in self._inputs().items():
            shape = _as_sent(one.type.value, one.shape)
            value = request.get(key)
            if not isinstance(value, np.ndarray) or value.shape != shape:
                came = f"of shape {value.shape}" if isinstance(value, np.ndarray) else f"a {type(value).__name__}"
                raise Refused(f"{key} must be an array of shape {shape}, but is {came}")
            if one.type.value == "VISUAL" and value.dtype != np.uint8:
                raise Refused(f"{key} must be of type uint8, but is {value.dtype}")
        if self._uses_language and not isinstance(request.get(TASK), str):
            raise Refused(f"{TASK} must be a text, but is a {type(request.get(TASK)).__name__}")

    def _remember(self, request: Request) -> None:
        info = request.get(EPISODE)
        if not isinstance(info, Mapping) or not isinstance(info.get("step"), int) or "episode_id" not in info:
            raise Refused(f"the policy looks back, and must be told the episode and the step under {EPISODE}")
        episode, step = str(info["episode_id"]), info["step"]
        past = self._pasts.get(episode)
        if step == 0:
            past = self._pasts[episode] = Past(0, deque([request] * self._moments, maxlen=self._moments))
            if self._ensembles:
                past.ensembler = copy.deepcopy(self._policy.temporal_ensembler)
                past.ensembler.reset()
        elif past is None or step != past.step + 1:
            seen = "never" if past is None else f"last at step {past.step}"
            raise Refused(f"the policy looks back, and must be asked at every step from 0: this is step {step}, {seen}")
        else:
            past.step = step
            past.seen.append(request)
        self._pasts.move_to_end(episode)
        if len(self._pasts) > MAX_EPISODES:
            self._pasts.popitem(last=False)

    def _answer_one_by_one(self, requests: Sequence[Request], asking: list[int], replies: list[Any]) -> None:
        pasts = {index: self._pasts[str(requests[index][EPISODE]["episode_id"])] for index in asking}
        idle = [index for index in asking if not pasts[index].planned]
        if idle:
            chunks = self._predict([list(pasts[index].seen) for index in idle])
            if self._ensembles:
                next_ = [pasts[index].ensembler.update(chunks[row][None]) for row, index in enumerate(idle)]
                chunks = self._torch.cat(next_)[:, None]
            for index, chunk in zip(idle, self._finished(chunks[:, : self._executed]), strict=True):
                pasts[index].planned.extend(chunk)
        for index in asking:
            replies[index] = {ACTION: pasts[index].planned.popleft()[None]}

    def _predict(self, rows: Sequence[Sequence[Request]]) -> Any:
        """Actions as the network gives them, (row, action, number), from the moments that each row has seen."""
        torch = self._torch
        self._policy.reset()
        with torch.inference_mode(), self._seeded([row[-1] for row in rows]):
            for moment in range(len(rows[0])):
                batch = self._prepare(self._batch([row[moment] for row in rows]))
                # The processor makes room for an action to learn from.
                batch.pop(ACTION, None)
                queues = {key: queue for key, queue in getattr(self._policy, "_queues", {}).items() if key != ACTION}
                if IMAGES in queues:
                    batch[IMAGES] = torch.stack([batch[key] for key in self._config.image_features], dim=-4)
                for key, queue in queues.items():
                    if key in batch:
                        queue.append(batch[key])
            with torch.autocast(torch.device(self._config.device).type) if self._config.use_amp else nullcontext():
                return self._policy.predict_action_chunk(batch)

    def _finished(self, chunks: Any) -> list[NDArray[np.float32]]:
        """Through the postprocessor, which some policies have for one action at a time only."""
        with self._torch.inference_mode():
            actions = [self._finish(chunks[:, index]) for index in range(chunks.shape[1])]
            return list(self._torch.stack(actions, dim=1).float().cpu().numpy())

    def _batch(self, requests: Sequence[Request]) -> dict[str, Any]:
        batch: dict[str, Any] = {}
        for key, one in self._inputs().items():
            values = self._torch.from_numpy(np.stack([request[key] for request in requests]))
            if one.type.value == "VISUAL":
                values = values.permute(0, 3, 1, 2).contiguous().float() / 255
            batch[key] = values.float()
        if self._uses_language:
            batch[TASK] = [request[TASK] for request in requests]
        return batch

    @contextmanager
    def _seeded(self, requests: Sequence[Request]) -> Iterator[None]:
        """Noise from the trial's own seed and step where they are told: then the same trial gives the same actions."""
        info = [request.get(EPISODE) for request in requests]
        if not all(isinstance(one, Mapping) and "policy_seed" in one for one in info):
            yield
            return
        words = repr([(one["policy_seed"], one.get("step")) for one in info if one])
        seed = int.from_bytes(hashlib.sha256(words.encode()).digest()[:7], "big")
        device = self._torch.device(self._config.device)
        with self._torch.random.fork_rng([device] if device.type == "cuda" else []):
            self._torch.manual_seed(seed)
            yield


def _as_sent(kind: str, shape: Sequence[int]) -> tuple[int, ...]:
    """LeRobot's pictures have their channels first, those on the wire last."""
    return (*shape[1:], shape[0]) if kind == "VISUAL" and len(shape) == 3 else tuple(shape)


# The wire: msgpack with arrays as maps with bytes as keys, and nothing that could be executed.


def pack(message: object) -> bytes:
    return bytes(msgpack.packb(message, default=_encode))


def unpack(data: bytes) -> dict[str, Any]:
    """A request, flat: `a.b` for `b` in the map `a`. What is told of the episode stays a map."""
    left = iter(range(MAX_ITEMS))

    def counted(value: Any) -> Any:
        if next(left, None) is None:
            raise Refused(f"a request of more than {MAX_ITEMS} maps and lists")
        return value

    message = msgpack.unpackb(
        data, object_hook=lambda value: _decode(counted(value)), list_hook=counted, strict_map_key=False,
        max_array_len=MAX_ITEMS, max_map_len=MAX_ITEMS,
    )  # fmt: skip
    if not isinstance(message, dict) or not all(isinstance(key, str) for key in message):
        raise Refused(f"a request must be a map of names, not {type(message).__name__}")
    info = message.pop(EPISODE, None)
    return {**_flat(message, "", 8), **({EPISODE: info} if info is not None else {})}


def _flat(message: Mapping[str, Any], prefix: str, depth: int) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in message.items():
        # Every value in a map repeats the map's own name.
        if len(name := f"{prefix}{key}") > MAX_NAME:
            raise Refused(f"a name of {len(name)} letters, but at most {MAX_NAME} are taken")
        flat.update(_flat(value, f"{name}.", depth - 1) if isinstance(value, dict) and depth else {name: value})
    return flat


def _encode(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return {b"__ndarray__": True, b"data": value.tobytes(), b"dtype": value.dtype.str, b"shape": value.shape}
    raise TypeError(f"a {type(value).__name__} cannot be sent")


def _decode(value: dict[Any, Any]) -> Any:
    if b"__ndarray__" not in value and b"__npgeneric__" not in value:
        return value
    asked, data = str(value.get(b"dtype"))[:40], value.get(b"data")
    if (dtype := DTYPES.get(asked)) is None or not isinstance(data, bytes if b"__ndarray__" in value else int | float):
        raise Refused(f"an array of type {asked!r}, but only booleans, integers and floats are taken")
    return np.frombuffer(data, dtype).reshape(value[b"shape"]) if isinstance(data, bytes) else dtype.type(data)


class Served(Protocol):
    @property
    def about(self) -> dict[str, Any]: ...

    def answer(self, requests: Sequence[Request]) -> Sequence[Reply | Exception]: ...


async def serve(served: Served, host: str, port: int, on_ready: Callable[[int], None]) -> None:
    """Until it is stopped; `on_ready` is told the port."""
    from websockets.asyncio.server import ServerConnection
    from websockets.asyncio.server import serve as serve_websocket
    from websockets.exceptions import ConnectionClosed

    def answer(frame: bytes | str) -> bytes:
        if isinstance(frame, str):
            raise Refused("a request must be a binary frame, not a text")
        (reply,) = served.answer([unpack(frame)])
        if isinstance(reply, Exception):
            raise reply
        return pack(reply)

    # One request at a time, beside the loop: batches as they happen to come would give other bits with every run.
    with ThreadPoolExecutor(1) as worker:

        async def handle(connection: ServerConnection) -> None:
            with suppress(ConnectionClosed):
                await connection.send(pack(served.about))
                async for frame in connection:
                    try:
                        reply = await asyncio.get_running_loop().run_in_executor(worker, answer, frame)
                    except Exception:
                        await connection.send(traceback.format_exc()[-MAX_ERROR:])
                        await connection.close(1011, "the policy failed; see the text frame before this")
                        return
                    await connection.send(reply)

        # No compression, which costs more than it saves, no pings, as the wire has deadlines, and no web pages.
        logging.getLogger("websockets.server").setLevel(logging.CRITICAL)
        async with serve_websocket(
            handle, host, port, compression=None, max_size=MAX_REQUEST_BYTES, max_queue=1, ping_interval=None,
            origins=[None],
            process_request=lambda peer, asked: peer.respond(200, "OK\n") if asked.path == "/healthz" else None,
        ) as server:  # fmt: skip
            on_ready(next(iter(server.sockets)).getsockname()[1])
            await server.serve_forever()


def main(arguments: Sequence[str] | None = None, load: Callable[[Path, str | None], Served] = Checkpoint) -> None:
    parser = argparse.ArgumentParser(description="Serve a LeRobot checkpoint on openpi's websocket protocol.")
    parser.add_argument("checkpoint", type=Path, help="a folder with config.json, as LeRobot saves it")
    parser.add_argument("--host", default="127.0.0.1", help="which interface; 0.0.0.0 for all of them")
    parser.add_argument("--port", type=int, default=8000, help="0 takes any free one")
    parser.add_argument("--device", help="cpu, cuda, mps …; the checkpoint's own if not given")
    parser.add_argument("--until-stdin-ends", action="store_true", help="exit with whoever holds the other end")
    asked = parser.parse_args(arguments)
    if asked.until_stdin_ends:
        threading.Thread(target=_exit_with_stdin, daemon=True).start()
    # What a checkpoint does not hold, as a tokenizer, must have been fetched before; HF_HUB_OFFLINE=0 fetches it.
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    # As RoboDx's own workers: sums keep their order. A setting of the user's is kept.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    words = f"Serving {asked.checkpoint} at ws://{asked.host}"
    try:
        served = load(asked.checkpoint, asked.device)
        asyncio.run(serve(served, asked.host, asked.port, lambda port: print(f"{words}:{port}", flush=True)))
    except KeyboardInterrupt:
        sys.exit(130)
    except (Refused, OSError) as error:
        sys.exit(f"{type(error).__name__}: {error}")


def _exit_with_stdin() -> None:
    """A parent that is killed cannot stop its server, but its end of the pipe closes."""
    while os.read(0, 4096):
        pass
    os._exit(0)


if __name__ == "__main__":
    # Where the file lies, others may be called as libraries are.
    sys.path[:] = [path for path in sys.path if Path(path).resolve() != Path(__file__).resolve().parent]
    main()

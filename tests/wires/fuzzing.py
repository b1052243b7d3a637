"""Replies that no sane server sends: half of them valid ones gone wrong, half made up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgpack
import numpy as np

from robodx.policy_contract import Observation, Policy
from robodx.spaces import InvalidAction
from robodx.wires.base import WireError

Rng = np.random.Generator


def fuzzed(valid: Sequence[bytes], *, count: int, seed: int = 0) -> Iterator[bytes]:
    """Alternately a mutation of a valid reply and something made up."""
    rng = np.random.default_rng(seed)
    for index in range(count):
        yield _mutated(rng, valid[int(rng.integers(len(valid)))]) if index % 2 == 0 else _made_up(rng)


def observation(policy: Policy) -> Observation:
    """One that the policy's spec asks for, without a simulator."""
    widths = {"joint_positions": 7, "joint_velocities": 7, "gripper_opening": 1, "ee_pose": 7, "base_pose": 7}
    rng = np.random.default_rng(0)
    return Observation(
        "episode", 0, 0.0, "stack the cubes",
        {part: rng.random(widths[part], dtype=np.float32) for part in policy.spec.state},
        {c.name: rng.integers(0, 255, (c.height, c.width, 3), dtype=np.uint8) for c in policy.spec.cameras},
    )  # fmt: skip


def judge(policy: Policy, seen: Observation) -> str:
    """Ask once. The answer is a chunk of finite numbers or a clear error; anything else fails the test."""
    (answer,) = policy.act([seen])
    if isinstance(answer, Exception):
        assert isinstance(answer, WireError | InvalidAction), repr(answer)
        assert 10 < len(str(answer)) < 3000, "an error must say what came, in a line"
        return type(answer).__name__
    assert answer.ndim == 2 and len(answer) and answer.dtype == np.float32
    assert np.isfinite(answer).all()
    return "valid"


def tally(policy: Policy, seen: Observation, count: int) -> Counter[str]:
    """How many of so many answers were of which kind."""
    return Counter(judge(policy, seen) for _ in range(count))


def _mutated(rng: Rng, valid: bytes) -> bytes:
    data = bytearray(valid)
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(len(data) + 1))
        kind = int(rng.integers(6))
        if kind == 0:
            del data[at:]
        elif kind == 1:
            data[at:at] = rng.bytes(int(rng.integers(1, 9)))
        elif kind == 2 and data:
            data[at % len(data)] = int(rng.integers(256))
        elif kind == 3 and data:
            data[at % len(data)] ^= 1 << int(rng.integers(8))
        elif kind == 4:
            end = at + int(rng.integers(1, 40))
            data[at:at] = data[at:end]
        else:
            del data[at : at + int(rng.integers(1, 16))]
    return bytes(data)


def _made_up(rng: Rng) -> bytes:
    kind = int(rng.integers(4))
    if kind == 0:
        return rng.bytes(int(rng.integers(0, 300)))
    packed: bytes = msgpack.packb(_value(rng, depth=4) if kind == 1 else _reply(rng))
    return packed


def _reply(rng: Rng) -> Any:
    """The right shape of message, with wrong insides."""
    keys = (b"__ndarray__", b"data", b"dtype", b"shape") if rng.random() < 0.5 else ("nd", "data", "type", "shape")
    dtype = str(rng.choice(["<f4", "<f8", "|O", "|V8", "<c8", "|u1", "", "float32", "<f4,<f4", "<M8[s]", "|S5", "|b1"]))
    shape = [int(size) for size in rng.choice([-1, 0, 1, 2, 7, 8, 2**31, 2**62], size=int(rng.integers(0, 4)))]
    array = dict(zip(keys, (True, rng.bytes(int(rng.integers(0, 80))), dtype, shape), strict=True))
    npy = {"__ndarray_class__": True, "as_npy": b"\x93NUMPY\x01\x00v\x00" + rng.bytes(40)}
    picture = {"__image__": True, "format": str(rng.choice(["png", "jpeg", "raw", "gif"])), "data": rng.bytes(30)}
    inside: list[Any] = [array, npy, picture, _value(rng, depth=2), [], {}, None, "error", float("nan")]
    value = inside[int(rng.integers(len(inside)))]
    return {
        str(key): value
        for key in rng.choice(["actions", "action", "error", "type", "payload", "data", "status"], size=2)
    }


def _value(rng: Rng, depth: int) -> Any:
    makers: list[Callable[[], Any]] = [
        lambda: None,
        lambda: bool(rng.integers(2)),
        lambda: int(rng.integers(-(2**62), 2**62)),
        lambda: float(rng.choice([0.0, -1.5, float("nan"), float("inf"), 1e300])),
        lambda: rng.bytes(int(rng.integers(20))),
        lambda: "".join(chr(int(c)) for c in rng.integers(32, 0x2FF, int(rng.integers(20)))),
        lambda: [_value(rng, depth - 1) for _ in range(int(rng.integers(4)))],
        lambda: {str(i): _value(rng, depth - 1) for i in range(int(rng.integers(4)))},
    ]
    return makers[int(rng.integers(len(makers) if depth else 6))]()

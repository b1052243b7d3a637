"""Malformed messages: valid ones gone wrong, made-up ones, and bytes that are no messages at all."""

from __future__ import annotations

import json
import random
import string
from collections.abc import Callable, Sequence
from typing import Any

import msgpack

from hostile.costly import costly
from hostile.transports import Transport, WebSockets

DEEP = 100_000
# So many of the values take much more to read than to send.
COSTLY = 0.005
KEYS = (
    "actions",
    "action",
    "type",
    "payload",
    "seq",
    "data",
    "endpoint",
    "observation",
    "robodx",
    "state",
    "prompt",
    "images",
    "episode_id",
    "step",
    "nd",
    "__ndarray__",
    "dtype",
    "shape",
    "as_npy",
    "__ndarray_class__",
)
DTYPES = (
    "<f4",
    "<f8",
    "|O",
    "|V8",
    "<c8",
    "|u1",
    "",
    "float32",
    "<f4,<f4",
    "<M8[s]",
    "|S5",
    "(1000000,)f4",
    "\x1b[31m",
)


def mutated(rng: random.Random, valid: bytes) -> bytes:
    """With a few bytes flipped, inserted, repeated or left out."""
    data = bytearray(valid)
    for _ in range(rng.randint(1, 4)):
        at, kind = rng.randint(0, len(data)), rng.randrange(6)
        if kind == 0:
            del data[at:]
        elif kind == 1:
            data[at:at] = rng.randbytes(rng.randint(1, 8))
        elif kind == 2 and data:
            data[at % len(data)] = rng.randrange(256)
        elif kind == 3 and data:
            data[at % len(data)] ^= 1 << rng.randrange(8)
        elif kind == 4:
            data[at:at] = data[at : at + rng.randint(1, 40)]
        else:
            del data[at : at + rng.randint(1, 16)]
    return bytes(data)


def rearranged(rng: random.Random, valid: bytes) -> bytes:
    """A message of the right form with a wrong field: left out, of another type, or of another meaning."""
    try:
        message = msgpack.unpackb(valid, strict_map_key=False)
        write: Callable[[Any], bytes] = _packed
    except (ValueError, msgpack.UnpackException):
        try:
            message = json.loads(valid)
        except ValueError:
            return mutated(rng, valid)
        write = _as_json
    place = message
    while isinstance(place, dict) and place:
        key = rng.choice(list(place))
        inside = place[key]
        if isinstance(inside, dict) and inside and rng.random() < 0.7:
            place = inside
            continue
        if rng.random() < 0.3:
            del place[key]
        else:
            place[key] = value(rng)
        break
    else:
        message = value(rng)
    return write(message)


def made_up(rng: random.Random) -> bytes:
    kind = rng.randrange(8)
    if kind == 0:
        return rng.randbytes(rng.randint(0, 400))
    if kind == 1:
        return rng.choice((b"\x91", b"\x81\xa1a", b"[", b'{"a":', b"\xdd\xff\xff\xff\xff", b"\xc7\x00")) * rng.choice(
            (3, DEEP)
        )
    if kind == 2:
        # A map, a list, a text or bytes that say that they are much larger than they are.
        return rng.choice((b"\xdf", b"\xdd", b"\xdb", b"\xc6")) + b"\x7f\xff\xff\xff" + rng.randbytes(20)
    if kind == 3:
        return b"[" * rng.randint(1, 2000) + b"]" * rng.randint(0, 2000)
    if kind == 4:
        return msgpack.packb([0] * rng.choice((10, 10**5)))  # type: ignore[no-any-return]
    return _packed({rng.choice(KEYS): value(rng) for _ in range(rng.randint(0, 6))} if kind < 7 else value(rng))


def value(rng: random.Random, depth: int = 3) -> Any:
    if rng.random() < COSTLY:
        return costly(rng)
    keys = (b"__ndarray__", b"data", b"dtype", b"shape") if rng.random() < 0.5 else ("nd", "data", "type", "shape")
    shape = [rng.choice((-1, 0, 1, 2, 7, 2**31, 2**62)) for _ in range(rng.randint(0, 4))]
    plain: list[Callable[[], Any]] = [
        lambda: None,
        lambda: rng.random() < 0.5,
        lambda: rng.choice((0, -1, 2**63, 2**64 - 1, -(2**63), 7)),
        lambda: rng.choice((0.0, -1.5, float("nan"), float("inf"), 1e300)),
        lambda: rng.randbytes(rng.randint(0, 60)),
        lambda: "".join(rng.choices(string.printable + "é\x1b\u202e", k=rng.randint(0, 20))),
        lambda: dict(zip(keys, (True, rng.randbytes(rng.randint(0, 60)), rng.choice(DTYPES), shape), strict=True)),
        lambda: {"__ndarray_class__": True, "as_npy": b"\x93NUMPY\x01\x00v\x00" + rng.randbytes(40)},
        lambda: {"__image__": True, "format": rng.choice(("png", "jpeg", "raw", "gif")), "data": rng.randbytes(30)},
        lambda: {"__npgeneric__": True, "data": rng.choice((1, "x", None)), "dtype": rng.choice(DTYPES)},
        lambda: msgpack.ExtType(rng.randrange(128), rng.randbytes(8)),
        lambda: msgpack.Timestamp(rng.randrange(2**40)),
    ]
    nested: list[Callable[[], Any]] = [
        lambda: [value(rng, depth - 1) for _ in range(rng.randint(0, 4))],
        lambda: {rng.choice(KEYS): value(rng, depth - 1) for _ in range(rng.randint(0, 4))},
        lambda: {rng.choice((1, None, b"x", 1.5)): value(rng, depth - 1)},
    ]
    return rng.choice(plain + nested if depth else plain)()


def message(rng: random.Random, valid: Sequence[bytes]) -> bytes:
    """One malformed message, to be sent in an orderly frame."""
    kind = rng.random()
    if kind < 0.45:
        return mutated(rng, rng.choice(valid))
    if kind < 0.75:
        return rearranged(rng, rng.choice(valid))
    return made_up(rng)


def bytes_below(rng: random.Random, transport: Transport, valid: Sequence[bytes], key: str | None) -> bytes:
    """What is not even a frame: noise, other protocols, frames that are cut off, or that say that they are huge."""
    opening = transport.opening(key)
    framed = transport.frame(rng.choice(valid))
    choices = [
        rng.randbytes(rng.randint(1, 3000)),
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + rng.randbytes(100),
        b"GET / HTTP/1.1\r\n" + b"X: " + b"a" * rng.choice((10, 100_000)) + b"\r\n\r\n",
        b"POST /act HTTP/1.0\r\nContent-Length: 99999999999999999999\r\n\r\n{}",
        mutated(rng, opening) if opening else rng.randbytes(30),
        opening[: rng.randint(0, len(opening))],
        opening + mutated(rng, framed),
        opening + framed[: rng.randint(0, len(framed))],
        opening + transport.huge(rng.choice((2**28 + 1, 2**31, 2**40, 2**62, 2**63))) + rng.randbytes(100),
        opening + rng.randbytes(rng.randint(1, 500)),
        opening + opening,
    ]
    if isinstance(transport, WebSockets):
        data = rng.choice(valid)
        choices += [
            opening + transport.frame_of(rng.randrange(3, 8), data),
            opening + transport.frame_of(0x2, data, flags=0x80 | rng.choice((0x40, 0x20, 0x10))),
            opening + transport.frame_of(0x0, data),
            opening + transport.frame_of(0x2, data, flags=0) * 3,
            opening + transport.frame_of(0x1, rng.randbytes(50)),
            opening + transport.frame_of(0x8, rng.randbytes(rng.randint(0, 130))),
            opening + transport.frame_of(0x9, rng.randbytes(300)),
            opening + transport.frame_of(0x0, b"", flags=0) * 2000,
        ]
    return rng.choice(choices)


def _packed(message: Any) -> bytes:
    return bytes(msgpack.packb(message))


def _as_json(message: Any) -> bytes:
    return json.dumps(message, default=repr).encode()

"""Values of a few bytes that cost much work or memory to read, and chat replies that never end well."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

LETTERS = 400_000
# Of megabytes, numpy parses a type for minutes.
TYPES = ("f4," * (LETTERS // 3), "(1,)" * 1000 + "f4", "f" * LETTERS, "[('a','f4')]" * 1000)


def costly(rng: random.Random) -> Any:
    dtype = rng.choice(TYPES)
    header = repr({"descr": dtype, "fortran_order": False, "shape": (1,)}).encode()
    npy = b"\x93NUMPY\x02\x00" + len(header).to_bytes(4, "little") + header
    choices: list[Callable[[], Any]] = [
        lambda: {b"__ndarray__": True, b"data": b"1234", b"dtype": dtype, b"shape": [1]},
        lambda: {"__ndarray__": True, "data": b"1234", "dtype": dtype, "shape": [1]},
        lambda: {"nd": True, "data": b"1234", "type": dtype, "shape": [1]},
        lambda: {b"__npgeneric__": True, b"data": 1, b"dtype": dtype},
        lambda: {"__ndarray_class__": True, "as_npy": npy},
        lambda: {"__image__": True, "format": "raw", "data": b"1234", "dtype": dtype, "shape": [1]},
        lambda: {b"__ndarray__": True, b"data": b"", b"dtype": "<f4", b"shape": [0, 2**62]},
        # Each of the values would repeat the name, and each of the texts be as long as the longest.
        lambda: {"a" * LETTERS: {str(index): 0 for index in range(5000)}},
        lambda: ["a" * LETTERS, *[""] * 5000],
        lambda: {"." * LETTERS: {"camera": "front"}},
        lambda: "x" * LETTERS,
        lambda: [[0] * 1000] * 100,
    ]
    return rng.choice(choices)()


class Said(NamedTuple):
    """What a chat server sends, piece by piece, and how long it waits after each."""

    pieces: Iterable[bytes]
    every_s: float = 0.0


OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"
CHATS: Mapping[str, Said] = {
    "drips its reply": Said([OK + b"Content-Length: 999\r\n\r\n", *[b" "] * 600], 0.1),
    "drips its headers": Said([b"H"] * 600, 0.1),
    "goes on without end": Said([b"HTTP/1.1 100 Continue\r\n\r\n"] * 600, 0.1),
    "hangs in a refusal": Said([b"HTTP/1.1 503 No\r\nContent-Length: 9\r\n\r\n", b"x"], 60.0),
    "breaks off a refusal": Said([b"HTTP/1.1 503 No\r\n" + CHUNKED + b"50\r\nabc"]),
    "is busy for nan": Said([b"HTTP/1.1 429 No\r\nRetry-After: nan\r\nContent-Length: 0\r\n\r\n"]),
    "sends a chunk of size -1": Said([OK + CHUNKED + b"-1\r\n", *[b"a" * 2**20] * 3000]),
    "sends gigabytes": Said([OK + b"\r\n", *[b"a" * 2**20] * 3000]),
    "sends no status": Said([b"\xff" * 60_000 + b"\r\n\r\n"]),
    "leads far away": Said(
        [b"HTTP/1.1 302 No\r\nLocation: http://" + b"a" * 60_000 + b"\r\nContent-Length: 0\r\n\r\n"]
    ),
    "packs no gzip": Said([OK + b"Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\n\x1f\x8babc"]),
    "says no UTF-8": Said([OK + b"Content-Length: 5\r\n\r\n\xff\xfe\xfd\xfc\xfb"]),
}

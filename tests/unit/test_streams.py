"""Named streams depend on their seed, name and keys, and on nothing else."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from robodx.streams import VARIATIONS, Streams, UndeclaredStream


def draws(streams: Streams, name: str, *keys: str | int) -> tuple[float, ...]:
    return tuple(streams.rng(name, *keys).random(8).tolist())


def test_same_name_gives_the_same_draws_again() -> None:
    streams = Streams(3)
    first = draws(streams, "layout")
    draws(streams, "robot")
    assert draws(streams, "layout") == first == draws(Streams(3), "layout")


def test_another_seed_name_or_key_gives_other_draws() -> None:
    drawn = [
        draws(Streams(3), "layout"),
        draws(Streams(4), "layout"),
        draws(Streams(3), "robot"),
        draws(Streams(3), "layout", 0),
        draws(Streams(3), "layout", 1),
        draws(Streams(3), "noise", "front", 1),
        draws(Streams(3), "noise", "front", 2),
        draws(Streams(3), "noise", "wrist", 1),
    ]
    assert len(set(drawn)) == len(drawn)


def test_keys_are_not_run_together() -> None:
    streams = Streams(0)
    drawn = [draws(streams, "noise", 1, 23), draws(streams, "noise", 12, 3), draws(streams, "noise", 123)]
    drawn += [draws(Streams(1), "2noise"), draws(Streams(12), "noise")]
    assert len(set(drawn)) == len(drawn)


def test_streams_of_neighbouring_seeds_are_uncorrelated() -> None:
    a, b = (Streams(seed).rng("layout").standard_normal(4000) for seed in (0, 1))
    assert abs(float(np.corrcoef(a, b)[0, 1])) < 0.06


def test_declaring_a_stream_does_not_change_its_draws() -> None:
    assert draws(Streams.of(5, ["layout", "robot"]), "layout") == draws(Streams(5), "layout")


def test_undeclared_stream_raises_and_names_what_is_declared() -> None:
    streams = Streams.of(0, ("robot", "arena"))
    with pytest.raises(UndeclaredStream, match=r'"layout".* varies only: arena, robot'):
        streams.rng("layout")
    with pytest.raises(UndeclaredStream, match=r"varies only: nothing"):
        Streams.of(0, ()).rng("robot")


def test_each_variation_opens_itself_only() -> None:
    for declared, drawn in itertools.permutations(VARIATIONS, 2):
        streams = Streams.of(0, (declared,))
        assert streams.rng(declared).random() >= 0.0
        with pytest.raises(UndeclaredStream):
            streams.rng(drawn)


def test_streams_that_are_no_variation_are_always_open() -> None:
    assert draws(Streams.of(0, ()), "noise", "front", 4) == draws(Streams(0), "noise", "front", 4)

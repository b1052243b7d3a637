"""Laws of every stressor on pictures: what it may and may not do to a frame, whatever the frame and the severity."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from robodx.errors import UserError
from robodx.perturbations.base import LARGEST, PERTURBATIONS, Draws, Perturbation, PerturbationEntry, SensorStress
from robodx.policy_contract import CameraRequest, Observation, PolicySpec
from robodx.records.trial import Trial
from robodx.running.environment import Environment
from robodx.streams import Streams

PERIOD_S = 0.05
SENSOR = [e.name for e in PERTURBATIONS.entries() if e.is_stressor and issubclass(e.cls, SensorStress)]
# Where a frame depends on those before it.
WITH_MEMORY = ("stale_frames",)
# Of a level: weaker and stronger than any, as far as the severity has a meaning.
FACTORS = (0.01, 0.37, 1.0, 4.0)

severities = st.tuples(st.sampled_from(("v1", "v2", "v3")), st.sampled_from(FACTORS))
sizes = st.tuples(st.integers(1, 41), st.integers(1, 41))


def started(name: str, severity: float, seed: int = 0) -> Perturbation:
    return PERTURBATIONS[name].start(severity, Draws(Streams(seed), name), PERIOD_S)


def severity_of(entry: PerturbationEntry, chosen: tuple[str, float]) -> float:
    level, factor = chosen
    return min(factor * entry.severities[level], entry.most)


def seen(image: NDArray[np.uint8], step: int, *, with_depth: bool = False, cameras: int = 1) -> Observation:
    names = ("front", "wrist")[:cameras]
    depth = image.mean(axis=2, dtype=np.float32) / 100 + np.float32(0.1)
    ids = (image[..., 0] // 64).astype(np.int32)
    return Observation(
        "", step, step * PERIOD_S, "", {},
        images=dict.fromkeys(names, image),
        depth=dict.fromkeys(names, depth) if with_depth else {},
        segmentation=dict.fromkeys(names, ids) if with_depth else {},
    )  # fmt: skip


def frames(observation: Observation) -> dict[tuple[str, str], NDArray[Any]]:
    parts: dict[str, Mapping[str, NDArray[Any]]] = {
        "image": observation.images, "depth": observation.depth, "segmentation": observation.segmentation
    }  # fmt: skip
    return {(part, camera): array for part, arrays in parts.items() for camera, array in arrays.items()}


def random_picture(height: int, width: int, seed: int) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


@cache
def pictures() -> dict[str, NDArray[np.uint8]]:
    """What a camera might see: smooth, sharp, and a table with things on it."""
    y, x = np.mgrid[:48, :64]
    gradient = np.stack([20 + 3 * x, 30 + 4 * y, 220 - x - y], axis=-1)
    # Not a chessboard: one that is shifted by two squares is the same again.
    mosaic = np.random.default_rng(0).integers(20, 230, (6, 8, 3)).repeat(8, axis=0).repeat(8, axis=1)
    environment = Environment(
        Trial("control/stack_cube", 2, "still", 0), PolicySpec(cameras=(CameraRequest("front", 48, 64),), state=())
    )
    table = environment.observe().images["front"]
    environment.close()
    return {"gradient": gradient.astype(np.uint8), "mosaic": mosaic.astype(np.uint8), "table": table}


@pytest.mark.parametrize("name", SENSOR)
@given(size=sizes, chosen=severities, seed=st.integers(0, 10**6), step=st.integers(0, 400))
@settings(max_examples=20)
def test_shape_and_type_are_kept_and_nothing_is_written_to(
    name: str, size: tuple[int, int], chosen: tuple[str, float], seed: int, step: int
) -> None:
    entry = PERTURBATIONS[name]
    clean = seen(random_picture(*size, seed), step, with_depth=True, cameras=2)
    before = {key: array.copy() for key, array in frames(clean).items()}
    for array in frames(clean).values():
        array.flags.writeable = False
    shown = frames(started(name, severity_of(entry, chosen), seed).observation(clean))
    assert list(shown) == list(before)
    for key, array in frames(clean).items():
        assert np.array_equal(array, before[key])
        assert (shown[key].shape, shown[key].dtype) == (array.shape, array.dtype)
        assert np.isfinite(shown[key]).all()


@pytest.mark.parametrize("name", [name for name in SENSOR if name not in WITH_MEMORY])
@given(chosen=severities, seed=st.integers(0, 10**6), steps=st.permutations(range(0, 60, 7)))
@settings(max_examples=10)
def test_a_frame_is_the_same_in_whatever_order_frames_are_asked_for(
    name: str, chosen: tuple[str, float], seed: int, steps: list[int]
) -> None:
    severity, image = severity_of(PERTURBATIONS[name], chosen), random_picture(12, 9, seed)
    ordered, shuffled = started(name, severity, seed), started(name, severity, seed)
    expected = {step: ordered.observation(seen(image, step)).images["front"] for step in sorted(steps)}
    for step in steps:
        assert np.array_equal(shuffled.observation(seen(image, step)).images["front"], expected[step])


# Of the disconnected camera it does: which view is lost is drawn among those that there are.
@pytest.mark.parametrize("name", [name for name in SENSOR if name != "camera_disconnect"])
@given(seed=st.integers(0, 10**6))
@settings(max_examples=5)
def test_a_frame_does_not_depend_on_which_others_a_policy_sees(name: str, seed: int) -> None:
    image, severity = random_picture(10, 11, seed), PERTURBATIONS[name].severities["v3"]
    alone, together = started(name, severity, seed), started(name, severity, seed)
    for step in range(0, 120, 9):
        one = alone.observation(seen(image, step)).images["front"]
        assert np.array_equal(one, together.observation(seen(image, step, with_depth=True, cameras=2)).images["front"])


def deviation(name: str, severity: float, image: NDArray[np.uint8]) -> float:
    """Mean squared, over several trials of 12 s of a view that moves."""
    total = []
    for seed in range(5):
        running = started(name, severity, seed)
        for step in range(0, 240, 12):
            moved = np.roll(image, step // 6, axis=1)
            shown = running.observation(seen(moved, step)).images["front"]
            total.append(np.mean((shown.astype(np.float32) - moved) ** 2))
    return float(np.mean(total))


@pytest.mark.parametrize("name", [name for name in SENSOR if PERTURBATIONS[name].is_ordered])
@pytest.mark.parametrize("picture", ["gradient", "mosaic", "table"])
def test_the_deviation_grows_with_the_level(name: str, picture: str) -> None:
    image = pictures()[picture]
    v1, v2, v3 = (deviation(name, severity, image) for severity in PERTURBATIONS[name].severities.values())
    assert 0 < v1 < v2 < v3


def test_all_ordered_stressors_but_the_flicker_are_held_to_that() -> None:
    assert [name for name in SENSOR if not PERTURBATIONS[name].is_ordered] == ["light_flicker"]
    assert deviation("light_flicker", 20.0, pictures()["table"]) > 0


@pytest.mark.parametrize("name", SENSOR)
def test_severity_may_be_any_number_and_little_of_it_does_little(name: str) -> None:
    entry, image = PERTURBATIONS[name], pictures()["table"]
    if entry.is_ordered:
        assert deviation(name, 0.001 * entry.severities["v1"], image) <= 0.2 * deviation(
            name, entry.severities["v1"], image
        )


@pytest.mark.parametrize("name", [entry.name for entry in PERTURBATIONS.entries() if entry.severities])
@given(
    wrong=st.one_of(st.floats(max_value=-1e-9), st.just(float("nan")), st.just(float("inf"))), excess=st.floats(1.01, 9)
)
@settings(max_examples=15)
def test_a_severity_without_meaning_is_refused(name: str, wrong: float, excess: float) -> None:
    entry = PERTURBATIONS[name]
    valid = re.escape(f"0 to {min(entry.most, LARGEST):g}")
    for severity in (wrong, entry.most * excess):
        for refuse in (lambda s: started(name, s), lambda s: entry.severity(str(s))):
            with pytest.raises(UserError, match=rf"a severity of {name} must be {valid}, not"):
                refuse(severity)

"""Small demonstrations of all kinds, for the tests of data set formats."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from robodx.datasets.schema import DataSet, Demonstration, Features, Pictures

FEATURES = Features(
    hz=20.0,
    cameras={"front": (6, 8), "wrist": (4, 4)},
    state={"joint_positions": ("shoulder", "elbow"), "gripper_opening": ("gripper",)},
    action=("dx", "dy", "gripper"),
    robot="panda",
    about={"action_space": "ee_delta", "frame": "base", "units": {"dx": "m"}},
)
METADATA = {"task": "spatial/place_between", "seed": 1_000_003, "disturbance_m": 0.006, "is_teleoperated": False}


def demonstration(
    seed: int, /, *, steps: int = 4, says: Sequence[str] = (), is_success_known: bool = True, **metadata: object
) -> Demonstration:
    """Of random pictures and numbers; `says` is the instruction at each step."""
    rng = np.random.default_rng(seed)
    return Demonstration(
        instructions=tuple(says) or ("put the cup away",) * steps,
        images={
            camera: Pictures.of(rng.integers(0, 256, (steps, *size, 3), dtype=np.uint8))
            for camera, size in FEATURES.cameras.items()
        },
        state={name: rng.normal(size=(steps, len(names))).astype(np.float32) for name, names in FEATURES.state.items()},
        action=rng.normal(size=(steps, len(FEATURES.action))).astype(np.float32),
        success=np.arange(steps) >= steps - 2 if is_success_known else None,
        metadata=METADATA | metadata,
    )


def assert_same(found: Demonstration, wanted: Demonstration) -> None:
    """Bit for bit."""
    assert found.instructions == wanted.instructions
    assert found.metadata == wanted.metadata
    assert list(found.state) == list(wanted.state)
    assert set(found.images) == set(wanted.images)
    for name, values in wanted.state.items():
        assert found.state[name].dtype == np.float32
        np.testing.assert_array_equal(found.state[name], values)
    np.testing.assert_array_equal(found.action, wanted.action)
    np.testing.assert_array_equal(found.success, wanted.success)
    for camera, pictures in wanted.images.items():
        np.testing.assert_array_equal(found.images[camera].all(), pictures.all())
        # Some, in another order, one twice.
        np.testing.assert_array_equal(found.images[camera].read([2, 0, 2]), pictures.read([2, 0, 2]))


def assert_holds(data: DataSet, wanted: Sequence[Demonstration]) -> None:
    assert data.features == FEATURES
    assert len(data) == len(wanted)
    for index, each in enumerate(wanted):
        assert_same(data[index], each)
    assert_same(data[-1], wanted[-1])
    # Workers of a training get it so.
    assert_same(pickle.loads(pickle.dumps(data))[0], wanted[0])


def write_and_die(format_name: str, path: Path) -> None:
    """Another process writes a demonstration to `path`, and ends without a goodbye before the second."""
    code = f"""
import os, sys
from pathlib import Path
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from robodx.datasets.formats.base import FORMATS
from tests.sample_data import FEATURES, demonstration

def some():
    yield demonstration(0)
    os._exit(9)

FORMATS[{format_name!r}].write(Path({str(path)!r}), FEATURES, some())
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 9

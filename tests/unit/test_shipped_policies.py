"""The learned policies that ship: what they answer on a fixed observation, and what they say if weights are missing.

After new weights: `python tests/unit/test_shipped_policies.py` writes tests/golden/networks/answers.json.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from robodx.errors import UserError
from robodx.learned import networks
from robodx.policy_contract import EpisodeStart, Observation, make_policy

GOLDEN = Path(__file__).parent.parent / "golden" / "networks"
ANSWERS = GOLDEN / "answers.json"
NAMES = ("act", "act_no_language", "flow")
# Processors sum in other orders. Half a millimetre is below what the hand can do.
TOLERANCE = 5e-4


def answers(name: str, steps: int = 3) -> list[list[list[float]]]:
    """Chunks at some steps of a made-up episode."""
    policy, rng, found = make_policy(name), np.random.default_rng(1), []
    policy.reset([EpisodeStart("e", 0, "primitive/pick_cube", "panda", 0, 0, "Pick up the red cube.", {})])
    for step in range(steps):
        state = {
            "ee_pose": np.array([0.4 + 0.02 * step, 0.1, 0.3, 0.0, 1.0, 0.0, 0.0], dtype=np.float32),
            "gripper_opening": np.array([0.5], dtype=np.float32),
            "joint_positions": np.array([0.0, -0.4, 0.0, -2.2, 0.0, 1.8, 0.8], dtype=np.float32),
        }
        images = {
            one.name: np.kron(rng.integers(0, 256, (8, 8, 3), dtype=np.uint8), np.ones((one.height // 8,) * 2 + (1,)))
            for one in policy.spec.cameras
        }
        pictures = {camera: image.astype(np.uint8) for camera, image in images.items()}
        seen = Observation("e", step, 0.1 * step, "Pick up the red cube.", state, pictures)
        found.append(np.asarray(policy.act([seen])[0]).tolist())
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_policy_answers_as_it_did_when_it_was_stored(name: str) -> None:
    stored = json.loads(ANSWERS.read_text())[name]
    np.testing.assert_allclose(answers(name), stored, atol=TOLERANCE)


@pytest.mark.parametrize("name", NAMES)
def test_a_policy_by_name_is_the_file_in_the_package_and_says_if_it_is_missing(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(networks, "WEIGHTS", tmp_path)
    with pytest.raises(UserError, match=rf"the weights of {name} are not in this installation.*{name}\.onnx"):
        make_policy(name)
    for file in GOLDEN.glob("*.onnx"):
        shutil.copy(file, tmp_path)
    assert np.asarray(answers(name, 1)).shape == (1, 4, 8)


def test_all_shipped_weights_together_are_at_most_12_megabytes() -> None:
    assert sum(file.stat().st_size for file in networks.WEIGHTS.glob("*.onnx")) <= 12e6


if __name__ == "__main__":
    ANSWERS.write_text(json.dumps({name: answers(name) for name in NAMES}))

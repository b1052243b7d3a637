"""Writes the tiny networks with random weights that tests run: tiny_networks.py tests/golden/networks"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parents[3] / "examples" / "training"))

from export import export
from network import Act, Flow, Shape, weights_digest

WORDS = ["<padding>", "<unknown>", "cube", "green", "on", "put", "red", "the"]
SHAPE = Shape({"front": 32, "wrist": 32}, 15, len(WORDS), 12, 4, 24, (8, 8, 16, 24), 1, 1, 1, 1)


def main(out: Path) -> None:
    torch.manual_seed(0)
    about: dict[str, Any] = {"hz": 10.0, "step": 0, "state": [str(number) for number in range(SHAPE.state)]}
    act, flow, mute = Act(SHAPE).state_dict(), Flow(SHAPE).state_dict(), replace(SHAPE, words=0)
    spoken = {**about, "shape": SHAPE.as_dict(), "vocabulary": WORDS}
    export({**spoken, "network": "act", "average": act}, out / "act.onnx")
    export({**spoken, "network": "flow", "average": flow, "act": weights_digest(act)}, out / "flow.onnx")
    unspoken = {**about, "shape": mute.as_dict(), "vocabulary": []}
    export({**unspoken, "network": "act_no_language", "average": Act(mute).state_dict()}, out / "act_no_language.onnx")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

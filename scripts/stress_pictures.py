"""Draws docs/images/stressors.png: what a camera sees under every sensor stressor, clean and at its three levels."""

from __future__ import annotations

import argparse
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import av
import mujoco
import numpy as np
from numpy.typing import NDArray
from pages import DOCS

from robodx.perturbations.base import PERTURBATIONS, Draws, PerturbationEntry, SensorStress
from robodx.policy_contract import CameraRequest, Observation, PolicySpec, make_policy
from robodx.records.trial import Trial
from robodx.running.environment import Environment
from robodx.sim import gl
from robodx.streams import Streams
from robodx.tasks.base import TASKS
from robodx.video.show import tile

Picture = NDArray[np.uint8]

TASK = "control/stack_cube"
HZ = 20.0
# The arm is under way by then, and the light has changed.
SHOWN_STEP = 85
STEPS = 160
SEED = 4


def observations(size: int) -> list[Observation]:
    """What the front camera sees while the expert works, and for some time after."""
    policy = make_policy("expert")
    spec = replace(policy.spec, cameras=(CameraRequest("front", size, size),), hz=HZ)
    environment = Environment(trial(), spec, quality="high")
    policy.reset([environment.start()])
    seen = []
    while not environment.is_done:
        seen.append(environment.observe())
        (chunk,) = policy.act([seen[-1]])
        environment.accept(chunk, 0.0)
        environment.step()
    environment.close()
    seen += [replace(seen[-1], step=step) for step in range(len(seen), STEPS)]
    return seen


def trial(*applied: tuple[str, float]) -> Trial:
    return Trial(TASK, TASKS[TASK].version, "expert", SEED, perturbations=applied)


def row(entry: PerturbationEntry, seen: list[Observation]) -> list[Picture]:
    """Clean, v1, v2, v3."""
    size = len(seen[0].images["front"])
    if not issubclass(entry.cls, SensorStress):
        spec = PolicySpec(cameras=(CameraRequest("front", size, size),), state=())
        applied = [(), *(((entry.name, severity),) for severity in entry.severities.values())]
        return [Environment(trial(*each), spec, quality="high").observe().images["front"] for each in applied]
    touched = [touched_near(entry, severity, seen) for severity in entry.severities.values()]
    return [seen[touched[-1][0]].images["front"], *(picture for _, picture in touched)]


def touched_near(entry: PerturbationEntry, severity: float, seen: list[Observation]) -> tuple[int, Picture]:
    """The picture that is changed nearest to the step to be shown, and its step."""
    running = entry.start(severity, Draws(Streams(SEED), entry.name), 1.0 / HZ)
    shown = [running.observation(each).images["front"] for each in seen]
    steps = [step for step, each in enumerate(seen) if shown[step] is not each.images["front"]]
    # Of a frozen view the end of the freeze: there it differs most.
    ends = [step for step in steps if step + 1 not in steps] if entry.name == "stale_frames" else steps
    step = min(ends, key=lambda each: abs(each - SHOWN_STEP))
    return step, shown[step]


def label(text: str, width: int, height: int = 20) -> Picture:
    gl.context()
    context = mujoco.MjrContext(mujoco.MjSpec().compile(), mujoco.mjtFontScale.mjFONTSCALE_100)
    mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, context)
    # No wider than MuJoCo's buffer.
    drawn = mujoco.MjrRect(0, 0, min(width, context.offWidth), height)
    mujoco.mjr_rectangle(drawn, 1.0, 1.0, 1.0, 1.0)
    mujoco.mjr_text(mujoco.mjtFont.mjFONT_NORMAL, text, context, 3 / drawn.width, 5 / height, 0.0, 0.0, 0.0)
    image = np.empty((height, drawn.width, 3), dtype=np.uint8)
    mujoco.mjr_readPixels(image, None, drawn, context)
    context.free()
    return np.pad(image[::-1], ((0, 0), (0, width - drawn.width), (0, 0)), constant_values=255)


def sheet(size: int) -> Picture:
    """Two stressors side by side."""
    seen = observations(size)
    strips = []
    for entry in PERTURBATIONS.entries():
        if entry.is_stressor and entry.kind == "sensor":
            strip = tile(row(entry, seen), columns=4)
            strips.append(np.concatenate([label(entry.name, strip.shape[1]), strip]))
    return tile(strips, columns=2)


def write_small_png(path: Path, image: Picture) -> None:
    codec = av.CodecContext.create("png", "w")
    codec.height, codec.width, _ = image.shape
    codec.pix_fmt, codec.time_base = "rgb24", Fraction(1)
    codec.options = {"pred": "mixed", "compression_level": "9"}
    # Six bits a channel: much smaller, and no eye sees it in a small picture.
    coarse = np.bitwise_or(image & np.uint8(0xFC), image >> np.uint8(6))
    packets = codec.encode(av.VideoFrame.from_ndarray(coarse, format="rgb24"))
    path.write_bytes(b"".join(bytes(packet) for packet in [*packets, *codec.encode(None)]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=128, help="pixels of each picture")
    parser.add_argument("--out", type=Path, default=DOCS / "images" / "stressors.png")
    arguments = parser.parse_args()
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    write_small_png(arguments.out, sheet(arguments.size))

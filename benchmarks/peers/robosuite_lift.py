"""Measure control steps per second of robosuite's Lift, in an environment of its own, and print them as JSON.

`shipped` is robosuite's own rendering; `matched` turns shadow maps (4096²) and multisampling (4 samples) off in the
model, so that every hard reset keeps them off. Lift's only light casts no shadow, so only multisampling differs;
reflections in floor and table legs stay on in both. Numba compilation, warm-up and resets are not timed.
"""

import argparse
import json
import math
import os
import platform
import statistics
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

# Imports of robosuite log and may print: from here on, descriptor 1 is stderr and only `RESULT` is the real stdout.
RESULT = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)

import numpy as np  # noqa: E402
import robosuite  # noqa: E402
from numpy.typing import NDArray  # noqa: E402
from PIL import Image  # noqa: E402
from robosuite.controllers import load_part_controller_config  # noqa: E402
from robosuite.controllers.composite.composite_controller_factory import (  # noqa: E402
    refactor_composite_controller_config,
)
from robosuite.environments.base import MujocoEnv  # noqa: E402

CONTROL_HZ = 20
CAMERAS = ("agentview", "robot0_eye_in_hand")
PACKAGES = ("robosuite", "mujoco", "numpy", "numba", "scipy", "PyOpenGL")
CONTROLLERS = ("OSC_POSE", "JOINT_POSITION")  # the first is the Panda's default
ACTION_LIMIT = 0.2  # of the controllers' ±1: keeps the arm near its start and off its joint limits
WARM_UP_SECONDS, WARM_UP_STEPS = 1.0, 5
MIN_BRIGHTNESS = 40.0  # of 255; Lift's white table gives about 218
MIN_STEPS = 20  # the fewest steps that give a usable interval, however slow the renderer

Observation = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Case:
    """One way of running Lift; without a size there are no cameras and no renderer."""

    size: int | None = None
    settings: str = "shipped"


class Measured(NamedTuple):
    """A case's row of the report, and what holds for the whole report."""

    row: dict[str, object]
    facts: dict[str, object]


CASES = (Case(), *(Case(size, settings) for size in (128, 224) for settings in ("shipped", "matched")))


def without_shadows_and_multisampling(xml: str) -> str:
    """The model with both off; robosuite renders from one MjrContext per model, which takes them from here."""
    root = ElementTree.fromstring(xml)
    visual = root.find("visual")
    if visual is None:
        visual = ElementTree.SubElement(root, "visual")
    quality = visual.find("quality")
    if quality is None:
        quality = ElementTree.SubElement(visual, "quality")
    quality.attrib.update(shadowsize="0", offsamples="0")
    return ElementTree.tostring(root, encoding="unicode")


def make_env(case: Case, *, controller: str, seed: int) -> MujocoEnv:
    """Lift with a Panda; everything not named here is robosuite's default.

    With the default renderer, "mjviewer", a reset leaves the old GL context to the garbage collector, which then frees
    the new one's textures and buffers: pictures turn black. "mujoco" frees it first. Neither is used for camera images.
    """
    has_cameras = case.size is not None
    cameras = {"camera_names": list(CAMERAS), "camera_heights": case.size, "camera_widths": case.size}
    arm = load_part_controller_config(default_controller=controller)
    env = robosuite.make(
        "Lift",
        robots="Panda",
        controller_configs=refactor_composite_controller_config(arm, "Panda", ["right"]),
        control_freq=CONTROL_HZ,
        has_renderer=False,
        renderer="mujoco",
        has_offscreen_renderer=has_cameras,
        use_camera_obs=has_cameras,
        seed=seed,
        **(cameras if has_cameras else {}),
    )
    if case.settings == "matched":
        env.set_xml_processor(without_shadows_and_multisampling)
    return env


def gl_renderer() -> str:
    """What draws the pictures; imported late, because PyOpenGL picks EGL only once robosuite has made its context."""
    from OpenGL.GL import GL_RENDERER, glGetString

    return str(glGetString(GL_RENDERER).decode())


def check_settings(env: MujocoEnv, case: Case) -> None:
    """Refuse to time a `matched` case in which robosuite's renderer kept its shadows or its samples."""
    context = env.sim._render_context_offscreen.con
    if case.settings == "matched" and (context.shadowSize or context.offSamples):
        raise RuntimeError(f"{case}: the renderer has shadowSize {context.shadowSize}, offSamples {context.offSamples}")


def check_pictures(observation: Observation, case: Case) -> None:
    """Refuse a case whose pictures have turned black, as they do once the renderer's buffers are lost."""
    for camera in CAMERAS:
        brightness = float(observation[f"{camera}_image"].mean())
        if brightness < MIN_BRIGHTNESS:
            raise RuntimeError(f"{case}: {camera} has mean brightness {brightness:.1f}, less than {MIN_BRIGHTNESS}")


def save_pictures(observation: Observation, case: Case, folder: Path) -> None:
    """What the cameras saw, side by side; robosuite's images are bottom row first."""
    images = [observation[f"{camera}_image"] for camera in CAMERAS]  # each (size, size, 3)
    folder.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.hstack(images)[::-1]).save(folder / f"robosuite_lift_{case.size}_{case.settings}.png")


def measure(case: Case, *, controller: str, seconds: float, seed: int, pictures: Path | None) -> Measured:
    """Time `env.step` for one case."""
    rng = np.random.default_rng(seed)
    env = make_env(case, controller=controller, seed=seed)
    observation = env.reset()  # a hard reset: the XML processor takes effect here
    facts: dict[str, object] = {"physics_timestep_s": float(env.sim.model.opt.timestep)}
    if case.size is not None:
        check_settings(env, case)
        facts["gl_renderer"] = gl_renderer()
        if pictures is not None:
            save_pictures(observation, case, pictures)
    start = env.sim.data.time
    low, high = env.action_spec
    warm_up_steps, warm_up_ends, step_seconds = 0, time.perf_counter() + WARM_UP_SECONDS, list[float]()
    while sum(step_seconds) < seconds or len(step_seconds) < MIN_STEPS:
        action = ACTION_LIMIT * rng.uniform(low, high)  # (action_dim,)
        began = time.perf_counter()
        observation, _, done, _ = env.step(action)
        ended = time.perf_counter()
        facts.setdefault("substeps", round((env.sim.data.time - start) / env.sim.model.opt.timestep))
        if ended < warm_up_ends or warm_up_steps < WARM_UP_STEPS:
            warm_up_steps += 1
        else:
            step_seconds.append(ended - began)
        if done:
            observation = env.reset()
    if case.size is not None:
        check_pictures(observation, case)
    env.close()

    steps, mean = len(step_seconds), statistics.fmean(step_seconds)
    error = 1.96 * statistics.stdev(step_seconds) / math.sqrt(steps)
    row: dict[str, object] = {
        "cameras": 0 if case.size is None else len(CAMERAS),
        "size": case.size,
        "settings": case.settings,
        "steps_per_s": 1 / mean,
        "steps_per_s_ci95": [1 / (mean + error), 1 / max(mean - error, min(step_seconds))],
        "steps_per_s_median": 1 / statistics.median(step_seconds),
        "steps": steps,
    }
    return Measured(row, facts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0, help="timed seconds per case (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the actions and the layout (default: %(default)s)")
    parser.add_argument("--controller", choices=CONTROLLERS, default=CONTROLLERS[0], help="(default: %(default)s)")
    parser.add_argument("--pictures", type=Path, help="also save each camera case's first picture in this folder")
    arguments = parser.parse_args()
    report: dict[str, object] = {
        "peer": f"robosuite {robosuite.__version__} Lift",
        "versions": {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}},
        "cpus": os.cpu_count(),
        "control_hz": CONTROL_HZ,
        "controller": arguments.controller,
    }
    rows = []
    for case in CASES:
        row, facts = measure(case, **vars(arguments))
        print(row, file=sys.stderr)
        rows.append(row)
        report |= facts
    json.dump(report | {"cases": rows}, RESULT)
    RESULT.write("\n")
    RESULT.flush()


if __name__ == "__main__":
    main()

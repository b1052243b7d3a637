"""Alternative conventions of a policy: each is a single change of its preset."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from robodx.sim.geometry import Array
from robodx.wires.pictures import ORIENTATIONS
from robodx.wires.preset import Preset
from robodx.wires.rotations import ROTATIONS

# Of the expert's motion, the share that a policy must explain to be called competent.
COMPETENT = 0.5
# A fitted scale explains more than none whatever it is fitted to: it must explain this much, and be far from 1, for a
# policy may also be slower or faster than the expert.
SCALED, FAR_SCALE = 0.7, 2.0
# Who seems to need more than this does not move: what is scaled is rounding.
LARGEST_SCALE = 1e6
DEGREES = (math.pi / 180, 180 / math.pi)


class Change(NamedTuple):
    """A hypothesis: what would be wrong, in a word and in a sentence, and the preset as it should be."""

    aspect: str
    sentence: str
    preset: Preset
    # The share that must be explained with it.
    must_explain: float = COMPETENT


def readings(preset: Preset) -> Iterator[Change]:
    """Every single thing that the policy's numbers could mean otherwise, but for their scale."""
    actions = preset.actions

    def change(aspect: str, sentence: str, **fields: Any) -> Change:
        return Change(aspect, sentence, replace(preset, actions=replace(actions, **fields)))

    declared = (actions.gripper_open, actions.gripper_closed)
    for opened, closed in dict.fromkeys((declared[::-1], (1.0, 0.0), (0.0, 1.0), (1.0, -1.0), (-1.0, 1.0))):
        if (opened, closed) != declared:
            is_reversed = (opened > closed) != (actions.gripper_open > actions.gripper_closed)
            yield change(
                "gripper sign" if is_reversed else "gripper range",
                f"its gripper is {opened:g} when open and {closed:g} when closed",
                gripper_open=opened, gripper_closed=closed,
            )  # fmt: skip
    if actions.space in ("joint", "joint_velocity"):
        other = "joint_velocity" if actions.space == "joint" else "joint"
        meaning = "velocities" if other == "joint_velocity" else "positions"
        yield change("action space", f"its numbers are joint {meaning} ({other})", space=other)
    if actions.space.startswith("ee_"):
        form = ROTATIONS[actions.rotation_form]
        for name, other_form in ROTATIONS.items():
            if name != actions.rotation_form and other_form.width == form.width:
                yield change("rotation form", f"its rotations are written as {name}", rotation=name)
    if actions.space == "ee_delta":
        frame = "tool" if actions.delta_frame == "base" else "base"
        yield change("frame", f"its deltas are in the axes of the {frame}", delta_frame=frame)
        pose = "achieved" if actions.delta_from == "commanded" else "commanded"
        yield change("achieved/commanded", f"its deltas start from the {pose} pose", delta_from=pose)


def views_of(preset: Preset) -> Iterator[Change]:
    """What the policy may want to see otherwise."""
    # All of them, and each by itself.
    groups = [tuple(preset.images), *((key,) for key in preset.images if len(preset.images) > 1)]
    for orientation, words in ORIENTATIONS.items():
        for group in filter(None, groups):
            if all(preset.images[key].orientation != orientation for key in group):
                turned = {key: replace(preset.images[key], orientation=orientation) for key in group}
                which = "its pictures" if len(group) == len(preset.images) else group[0]
                images = {**preset.images, **turned}
                yield Change("image orientation", f"it expects {which} {words}", replace(preset, images=images))
    for (one, first), (two, second) in combinations(preset.images.items(), 2):
        if first.camera != second.camera and first.is_depth == second.is_depth:
            swapped = {
                **preset.images,
                one: replace(first, camera=second.camera),
                two: replace(second, camera=first.camera),
            }
            sentence = f"it expects {second.camera} as {one} and {first.camera} as {two}"
            if first.content == second.content:
                yield Change("cameras swapped", sentence, replace(preset, images=swapped))
    if preset.state:
        unit = "degrees" if preset.state_angles == "radians" else "radians"
        yield Change("state in degrees", f"it expects angles in {unit}", replace(preset, state_angles=unit))  # type: ignore[arg-type]


def scales(preset: Preset, pairs: Mapping[str, tuple[Array, Array]]) -> Iterator[Change]:
    """Degrees, millimetres, and for steps and speeds the scale that fits best the motions of policy and expert."""
    actions = preset.actions

    def scaled(name: str, factor: float) -> Preset:
        return replace(preset, actions=replace(actions, **{name: factor * getattr(actions, name)}))

    for component, name, unit in (
        ("position", "scale_m", "m"),
        ("rotation", "scale_rad", "rad"),
        ("joints", "scale_rad", "rad"),
    ):
        if component not in pairs or (component == "rotation" and not ROTATIONS[actions.rotation_form].is_angles):
            continue
        declared = getattr(actions, name)
        known = dict(zip(DEGREES, ("in degrees", "in radians, not in degrees"), strict=True)) if unit == "rad" else {}
        for factor, words in known.items():
            yield Change("degrees", f"its angles are {words}", scaled(name, factor))
        fitted = [0.001, 1000.0] if component == "position" else []
        if actions.space in ("ee_delta", "joint_velocity"):
            fitted = [factor] if 0 < (factor := _best_factor(*pairs[component])) < LARGEST_SCALE else []
        for factor in fitted:
            is_known = any(abs(math.log(factor / other)) < math.log(1.1) for other in known)
            if not is_known and abs(math.log(factor)) > math.log(FAR_SCALE):
                sentence = f"the value 1 means {declared * factor:.3g} {unit}, not {declared:.3g}"
                yield Change(f"scale of {component}", sentence, scaled(name, factor), SCALED)


def _best_factor(ours: Array, theirs: Array) -> float:
    """By least squares."""
    used = ~np.isnan(ours)
    size = float(np.square(ours[used]).sum())
    return float((ours[used] * theirs[used]).sum()) / size if size > 0 else 0.0

"""Alternative conventions of a policy: each is a single change of its preset."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from robodx.sim.geometry import Array
from robodx.wires.parts import PARTS
from robodx.wires.pictures import ORIENTATIONS, Channels, Picture
from robodx.wires.preset import Preset
from robodx.wires.rotations import ROTATIONS

# Of the expert's motion, the share that a policy must explain to be called competent.
COMPETENT = 0.5
# A fitted scale explains more than none whatever it is fitted to: it must explain this much, and be far from 1, for a
# policy may also be slower or faster than the expert.
SCALED, FAR_SCALE = 0.7, 2.0
# The probe on the expert's frames: twice as long steps of a policy that is a little faster or slower are found too.
FAR_STEPS = 1.75
# Who seems to need more than this does not move: what is scaled is rounding.
LARGEST_SCALE = 1e6
DEGREES = (math.pi / 180, 180 / math.pi)
# Millimetres and centimetres, and the reverse.
LENGTHS = (0.001, 0.01, 100.0, 1000.0)
# A server may enlarge the middle of its pictures: the share of their width and height that is left.
CROPS = (0.75, 0.9)
# What an open and a closed gripper may be in a server's numbers; the last is the opening in metres.
GRIPPERS = ((1.0, 0.0), (0.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (0.08, 0.0))


class Change(NamedTuple):
    """A hypothesis: what would be wrong, in a word and in a sentence, and the preset as it should be."""

    aspect: str
    sentence: str
    preset: Preset
    # What it is about: a later change of the same replaces it.
    about: str
    # Of a fitted change: what it was fitted to, and the share that must then be explained.
    component: str | None = None
    must_explain: float = 0.0


def grippers(preset: Preset) -> Iterator[Change]:
    """What the policy's number for the gripper could mean otherwise."""
    actions = preset.actions
    declared = (actions.gripper_open, actions.gripper_closed)
    for opened, closed in dict.fromkeys((declared[::-1], *GRIPPERS)):
        if (opened, closed) != declared:
            is_reversed = (opened > closed) != (actions.gripper_open > actions.gripper_closed)
            yield _reading(
                preset, "gripper sign" if is_reversed else "gripper range",
                f"its gripper is {opened:g} when open and {closed:g} when closed", "gripper",
                gripper_open=opened, gripper_closed=closed,
            )  # fmt: skip


def motions(preset: Preset) -> Iterator[Change]:
    """What the policy's numbers for the arm could mean otherwise, but for their scale."""
    actions = preset.actions
    if actions.space in ("joint", "joint_velocity"):
        other = "joint_velocity" if actions.space == "joint" else "joint"
        meaning = "velocities" if other == "joint_velocity" else "positions"
        yield _reading(
            preset, "action space", f"its numbers are joint {meaning} ({other})", "space",
            space=other, delta_frame="base", delta_from="commanded",
        )  # fmt: skip
        return
    form = ROTATIONS[actions.rotation_form]
    for name, other_form in ROTATIONS.items():
        if name != actions.rotation_form and other_form.width == form.width:
            yield _reading(preset, "rotation form", f"its rotations are written as {name}", "rotation", rotation=name)
    other = "ee_pose" if actions.space == "ee_delta" else "ee_delta"
    meaning = "steps" if other == "ee_delta" else "poses"
    if preset.settle_steps == 0:
        yield _reading(
            preset, "action space", f"its numbers are {meaning} ({other})", "space",
            space=other, rotation=actions.rotation_form, delta_frame="base", delta_from="commanded",
        )  # fmt: skip
    if actions.space == "ee_delta":
        frame = "tool" if actions.delta_frame == "base" else "base"
        yield _reading(preset, "frame", f"its deltas are in the axes of the {frame}", "frame", delta_frame=frame)
        pose = "achieved" if actions.delta_from == "commanded" else "commanded"
        yield _reading(preset, "achieved/commanded", f"its deltas start from the {pose} pose", "from", delta_from=pose)


def _reading(preset: Preset, aspect: str, sentence: str, about: str, **fields: Any) -> Change:
    return Change(aspect, sentence, replace(preset, actions=replace(preset.actions, **fields)), f"action {about}")


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
            # Who turns at random seems better whatever makes it turn less.
            yield Change(
                "degrees", f"its angles are {words}", scaled(name, factor), f"action {name}", component, COMPETENT
            )
        fitted = list(LENGTHS) if component == "position" else []
        if actions.space in ("ee_delta", "joint_velocity"):
            fitted = [factor] if 0 < (factor := _best_factor(*pairs[component])) < LARGEST_SCALE else []
        for factor in fitted:
            is_known = any(abs(math.log(factor / other)) < math.log(1.1) for other in known)
            if not is_known and abs(math.log(factor)) > math.log(FAR_STEPS):
                sentence = f"the value 1 means {declared * factor:.3g} {unit}, not {declared:.3g}"
                yield Change(
                    f"scale of {component}", sentence, scaled(name, factor), f"action {name}", component, SCALED
                )


def _best_factor(ours: Array, theirs: Array) -> float:
    """By least squares."""
    used = ~np.isnan(ours)
    size = float(np.square(ours[used]).sum())
    return float((ours[used] * theirs[used]).sum()) / size if size > 0 else 0.0


def views_of(preset: Preset) -> Iterator[Change]:
    """What the policy may want to see otherwise."""
    yield from _orientations(preset)
    yield from _channels(preset)
    yield from _crops(preset)
    yield from _swaps(preset)
    yield from _states(preset)


def between(given: Preset, wanted: Preset) -> list[Change]:
    """The fewest changes of what is seen that lead from one preset to another."""
    changes = list[Change]()
    while left := _differences(given, wanted):
        nearer = [one for one in views_of(given) if len(_differences(one.preset, wanted)) < len(left)]
        if not nearer:
            break
        best = min(nearer, key=lambda one: len(_differences(one.preset, wanted)))
        changes.append(best)
        given = best.preset
    return changes


def _differences(one: Preset, two: Preset) -> list[str]:
    pictures = [
        f"{key} {name}" for key in one.images for name in ("camera", "orientation", "channels", "content")
        if getattr(one.images[key], name) != getattr(two.images[key], name)
    ]  # fmt: skip
    state = [key for key in one.state if one.state[key] != two.state[key]]
    return [*pictures, *state, *(["angles"] if one.state_angles != two.state_angles else [])]


def _groups(images: Mapping[str, Picture]) -> dict[tuple[str, ...], str]:
    """Pictures that may be wrong together, with their name: all of them, all of a kind, those of one camera."""
    colour = tuple(key for key, picture in images.items() if not picture.is_depth)
    depth = tuple(key for key, picture in images.items() if picture.is_depth)
    groups = {tuple(images): "its pictures"}
    groups.setdefault(colour, "its colour pictures")
    groups.setdefault(depth, "its depth pictures")
    for camera in dict.fromkeys(picture.camera for picture in images.values()):
        keys = tuple(key for key, picture in images.items() if picture.camera == camera)
        groups.setdefault(keys, " and ".join(keys))
    return {keys: name for keys, name in groups.items() if keys}


def _orientations(preset: Preset) -> Iterator[Change]:
    for orientation, words in ORIENTATIONS.items():
        for group, which in _groups(preset.images).items():
            if all(preset.images[key].orientation != orientation for key in group):
                turned = {key: replace(preset.images[key], orientation=orientation) for key in group}
                yield Change(
                    "image orientation", f"it expects {which} {words}",
                    replace(preset, images={**preset.images, **turned}), f"orientation of {which}",
                )  # fmt: skip


def _channels(preset: Preset) -> Iterator[Change]:
    coloured = {key: picture for key, picture in preset.images.items() if not picture.is_depth}
    for group, which in _groups(coloured).items():
        channels = {coloured[key].channels for key in group}
        if len(channels) == 1:
            other: Channels = "BGR" if channels == {"RGB"} else "RGB"
            changed = {key: replace(coloured[key], channels=other) for key in group}
            yield Change(
                "colour channels", f"it expects {which} in the order {other}",
                replace(preset, images={**preset.images, **changed}), f"channels of {which}",
            )  # fmt: skip


def _crops(preset: Preset) -> Iterator[Change]:
    """A border makes up for what a server cuts off."""
    groups = {tuple(preset.images): "its pictures"}
    for camera in dict.fromkeys(picture.camera for picture in preset.images.values()):
        keys = tuple(key for key, picture in preset.images.items() if picture.camera == camera)
        groups.setdefault(keys, " and ".join(keys))
    for group, which in groups.items():
        if not group:
            continue
        for share in CROPS:
            yield from _with_border(preset, group, share, f"it looks only at the middle {share:.0%} of {which}")
        yield from _with_border(preset, group, 1.0, f"it expects {which} without a border")


def _with_border(preset: Preset, group: Sequence[str], share: float, sentence: str) -> Iterator[Change]:
    """None where nothing would change, or where a camera would be asked for in two sizes."""
    bordered = {key: preset.images[key].with_border(share) for key in group}
    images = {**preset.images, **bordered}
    sizes = {(one.camera, one.content) for one in images.values()}
    if images == preset.images or len(sizes) > len({one.camera for one in images.values()}):
        return
    yield Change("image crop", sentence, replace(preset, images=images), f"border of {' and '.join(group)}")


def _swaps(preset: Preset) -> Iterator[Change]:
    kinds: dict[str, list[bool]] = {}
    for picture in preset.images.values():
        kinds.setdefault(picture.camera, []).append(picture.is_depth)
    for one, two in combinations(kinds, 2):
        if sorted(kinds[one]) == sorted(kinds[two]):
            other = {one: two, two: one}
            swapped = {
                key: replace(picture, camera=other.get(picture.camera, picture.camera))
                for key, picture in preset.images.items()
            }
            sentence = f"it expects the camera {two} where it gets {one}, and the reverse"
            yield Change("cameras swapped", sentence, replace(preset, images=swapped), f"cameras {one}, {two}")


def _states(preset: Preset) -> Iterator[Change]:
    if any(PARTS[part].is_angles for parts in preset.state.values() for part in parts):
        unit = "degrees" if preset.state_angles == "radians" else "radians"
        yield Change(
            "state in degrees", f"it expects angles in {unit}", replace(preset, state_angles=unit),  # type: ignore[arg-type]
            "state angles",
        )  # fmt: skip
    for key, parts in preset.state.items():
        for at, part in enumerate(parts):
            for aspect, other in _other_parts(part):
                changed = {**preset.state, key: (*parts[:at], *other, *parts[at + 1 :])}
                yield Change(
                    aspect, f"it expects {' and '.join(other)} as {key}, where it gets {part}",
                    replace(preset, state=changed), f"state {key} {at}",
                )  # fmt: skip


def _other_parts(part: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What else as many numbers could be."""
    hands = ("gripper_opening", "gripper_closing", "gripper_width")
    if part in hands:
        yield from (("state of the gripper", (name,)) for name in hands if name != part)
    if part == "ee_pose":
        yield "state's rotation form", ("ee_position", "ee_quaternion_xyzw")
    elif PARTS[part].of == "ee_pose" and part != "ee_position":
        forms = [f"ee_{name}" for name, form in ROTATIONS.items() if form.width == PARTS[part].width]
        yield from (("state's rotation form", (name,)) for name in forms if name != part)

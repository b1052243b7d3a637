"""The data set's actions around the frames that a policy is asked about, and what their numbers are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from robodx.compatibility.data_frames import DataFrame, declared_space
from robodx.datasets.schema import Features
from robodx.sim.geometry import Array
from robodx.spaces import ActionSpace
from robodx.wires.preset import Preset
from robodx.wires.rotations import ROTATIONS

# Where actions change less than this from step to step, relative to all their variation, they say where to be.
SMOOTH = 0.05
STILL = 1e-9


@dataclass(frozen=True)
class Truth:
    """The data set's actions around the frames, and what their numbers are."""

    frames: Sequence[DataFrame]
    names: tuple[str, ...]
    # As the data set or else the preset declares it; None where the width does not fit.
    space: ActionSpace | None
    # How rotations are written in it.
    rotation: str
    # Whether actions say where to be; the trivial guess is then the action before, and otherwise the mean action.
    is_absolute: bool
    # Whether that is declared, and not only likely: a policy that is faster or slower then has no other scale.
    is_surely_absolute: bool
    components: Mapping[str, tuple[int, ...]]
    # Position columns of each arm, and its rotation's.
    positions: tuple[tuple[int, ...], ...] = ()
    rotations: tuple[tuple[int, ...], ...] = ()
    _at: dict[int, Array] = field(default_factory=dict, compare=False)

    @property
    def gripper(self) -> list[int]:
        return list(self.components.get("gripper", ()))

    @property
    def motion(self) -> list[int]:
        return [column for column in range(len(self.names)) if column not in self.gripper]

    @property
    def quaternions(self) -> list[list[int]]:
        return [list(columns) for columns in self.rotations if len(columns) == 4]

    @cached_property
    def all_actions(self) -> Array:
        """Of the frames' episodes, each once."""
        return np.concatenate(list({frame.episode: frame.actions for frame in self.frames}.values()))

    @cached_property
    def usual(self) -> Array:
        return np.asarray(np.nanmean(self.all_actions, axis=0))

    @cached_property
    def spread(self) -> Array:
        return np.asarray(np.maximum(np.nanstd(self.all_actions, axis=0), STILL))

    @cached_property
    def episodes(self) -> NDArray[np.int64]:
        return np.array([frame.episode for frame in self.frames])

    def at(self, offset: int) -> Array:
        """(frames, numbers): the action so many steps after each frame's own; NaN beyond its episode."""
        if offset not in self._at:
            found = np.full((len(self.frames), len(self.names)), np.nan)
            for row, frame in enumerate(self.frames):
                if 0 <= frame.step + offset < len(frame.actions):
                    found[row] = frame.actions[frame.step + offset]
            self._at[offset] = found
        return self._at[offset].copy()


def truth_of(preset: Preset, features: Features, frames: Sequence[DataFrame]) -> Truth:
    """What the numbers of a data set's actions are: by what it declares, or else by what the preset says of them."""
    names, width = features.action, len(features.action)
    space, arms = declared_space(features), preset.arms
    is_own = space is not None
    # An own space has RoboDx's rotations, others those that the preset says.
    rotation = preset.actions.rotation_form
    if is_own:
        rotation = "quaternion_wxyz" if space == "ee_pose" else "rotation_vector"
    space = space or preset.actions.space
    each, rest = divmod(width, arms)
    starts = [arm * each for arm in range(arms)] if not rest else [0]
    turn = ROTATIONS[rotation].width if space.startswith("ee_") else 0
    fits = not rest and (not space.startswith("ee_") or each == 4 + turn)
    named = tuple(at for at, name in enumerate(names) if "grip" in name.lower() or name.lower().endswith("opening"))
    gripper = tuple(start + each - 1 for start in starts) if fits or not named else named
    components: dict[str, tuple[int, ...]] = {}
    positions = rotations = tuple[tuple[int, ...], ...]()
    if fits and space.startswith("ee_"):
        positions = tuple(tuple(range(start, start + 3)) for start in starts)
        rotations = tuple(tuple(range(start + 3, start + 3 + turn)) for start in starts)
        components["position"] = tuple(column for block in positions for column in block)
        components["rotation"] = tuple(column for block in rotations for column in block)
    else:
        joined = tuple(column for column in range(width) if column not in gripper)
        components["joints" if fits else "motion"] = joined
    components["gripper"] = gripper
    motion = [column for column in range(width) if column not in gripper]
    says_absolute = space in ("ee_pose", "joint")
    is_absolute = says_absolute if is_own else _is_smooth(frames, motion)
    return Truth(
        frames, names, space if fits else None, rotation, is_absolute, is_absolute and says_absolute,
        {name: columns for name, columns in components.items() if columns}, positions, rotations,
    )  # fmt: skip


def _is_smooth(frames: Sequence[DataFrame], columns: list[int]) -> bool:
    """Whether actions that nothing is said about change so little that they say where to be."""
    steps = whole = 0.0
    episodes = list({frame.episode: frame.actions[:, columns] for frame in frames}.values())
    spread = np.maximum(np.concatenate(episodes).std(axis=0), 1e-9)
    for actions in episodes:
        scaled = actions / spread
        steps += float(np.square(np.diff(scaled, axis=0)).sum())
        whole += float(np.square(scaled - scaled.mean(axis=0)).sum())
    return steps < SMOOTH * whole

"""rerun: a recording of each chosen episode, from its stored trajectory and its film; nothing is simulated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robodx.errors import UserError
from robodx.exports.base import Exporter, Item, Source, Wishes, exporter, needed
from robodx.records.film_name import film_name
from robodx.records.trajectory import DAMAGED, Trajectory
from robodx.report.viewer.trajectory import FARTHEST_M, action_parts, guessed

SUFFIX = ".rrd"
FAILURES = 10
# The size of marks in space, in metres.
THING_M, TOOL_M, PATH_M = 0.015, 0.01, 0.002
# Of the world's log, what is bad news.
WARNED = ("collision", "drop", "slip", "limit")


def plan(source: Source, wishes: Wishes, out: Path) -> Sequence[Item]:
    rr = needed("rerun", "rerun")
    rows = source.episodes.to_dicts()
    if erred := [row["trial_id"] for row in rows if row["outcome"] == "error"]:
        raise UserError(f"of trial {erred[0]} there is nothing to record: it ended in an error")
    writers = [partial(_write, rr, source, row) for row in rows]
    if out.suffix.lower() == SUFFIX and not out.is_dir():
        if len(rows) > 1:
            raise UserError(f"a recording is of one episode, and {len(rows)} are chosen: name a folder with -o")
        return [Item(out, writers[0])]
    names = [f"{film_name(row).removesuffix('.mp4')}{SUFFIX}" for row in rows]
    return [Item(out / name, write) for name, write in zip(names, writers, strict=True)]


def _write(rr: Any, source: Source, row: Mapping[str, Any], path: Path) -> None:
    trajectory = source.trajectory(row["trial_id"])
    # Without the time of the export, which would be told as that of the episode.
    recording = rr.RecordingStream("robodx", recording_id=row["trial_id"], send_properties=False)
    # What is wrong in a call would otherwise be a warning, and a part of the recording missing.
    rr.set_strict_mode(True)
    recording.save(str(path))
    try:
        _Recorder(rr, recording, trajectory).episode(row, source.film(row), source.about)
    except DAMAGED as error:
        why = " ".join(str(error).split()) or type(error).__name__
        raise UserError(f"trial {row['trial_id']} of {source.path} cannot be recorded: {why}") from error
    finally:
        recording.flush()
        recording.disconnect()


class _Recorder:
    """One episode on two timelines: the control step, and the time in the simulation."""

    def __init__(self, rr: Any, recording: Any, trajectory: Trajectory) -> None:
        self._rr, self._recording, self._trajectory = rr, recording, trajectory
        self._time_s = trajectory.time_s

    def episode(self, row: Mapping[str, Any], film: Path | None, about: Mapping[str, Any]) -> None:
        self._recording.send_recording_name(f"{row['task']} seed {row['seed']}: {row['outcome']}")
        facts = {name: row[name] for name in ("trial_id", "policy", "task", "seed", "repeat", "outcome")}
        self._recording.send_property("episode", self._rr.AnyValues(**facts))
        self._recording.log("world", self._rr.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)
        self._texts(row)
        self._scalars("stage", np.arange(len(self._time_s)), self._trajectory.stage.astype(np.float64))
        self._actions(about.get("policy_spec", {}).get("action_space"))
        self._tools()
        self._things()
        if film is not None:
            self._film(film)

    def _texts(self, row: Mapping[str, Any]) -> None:
        rr = self._rr
        told = row["instructions"] or ()
        if told:
            columns = rr.TextDocument.columns(text=[one["text"] for one in told])
            self._recording.send_columns("instruction", self._indexes([one["step"] for one in told]), columns)
        logged = [
            (one["step"], _words(one), "WARN" if one["kind"] in WARNED else "INFO") for one in row["events"] or ()
        ]
        evidence = row["failure_evidence"]
        kind = ": ".join(filter(None, (row["outcome"], row["failure_kind"], row["failure_type"])))
        end = len(self._time_s) - 1
        step, said = (end, kind) if evidence is None else (evidence["step"], f"{kind}: {evidence['says']}")
        logged.append((step, said, "INFO" if row["success"] else "ERROR"))
        steps, words, levels = zip(*sorted(logged, key=lambda one: one[0]), strict=True)
        self._recording.send_columns("events", self._indexes(steps), rr.TextLog.columns(text=words, level=levels))

    def _actions(self, space: str | None) -> None:
        """As the policy sent them; none while it was thinking."""
        actions = np.atleast_2d(self._trajectory.actions)
        for part in action_parts(space, actions.shape[1], self._trajectory.tool_in_world.shape[1]):
            for at, name in zip(part["at"], part["names"], strict=True):
                steps = np.flatnonzero(np.isfinite(actions[:, at]))
                self._scalars(self._path("actions", part["title"], name), steps, actions[steps, at].astype(np.float64))

    def _tools(self) -> None:
        index = self._trajectory.index
        names = {} if index is None else {hand.tool: hand.name for hand in index.hands}
        for arm in range(self._trajectory.tool_in_world.shape[1]):
            poses, name = self._trajectory.tool_in_world[:, arm], names.get(arm) or f"tool {arm + 1}"
            self._moving(self._path("world", "tools", name), poses[:, :3], poses[:, 3:], TOOL_M, name)
            strip = self._rr.LineStrips3D([poses[:, :3]], radii=PATH_M)
            self._recording.log(self._path("world", "tool paths", name), strip, static=True)

    def _things(self) -> None:
        trajectory = self._trajectory
        if trajectory.index is None:
            for place, way in enumerate(guessed(trajectory.qpos), start=1):
                self._moving(self._path("world", "things", f"object {place}"), way, None, THING_M, f"object {place}")
            return
        for name in trajectory.index.things:
            poses = trajectory.thing(name)
            if np.all(np.abs(poses[0, :3]) < FARTHEST_M):
                self._moving(self._path("world", "things", name), poses[:, :3], poses[:, 3:], THING_M, name)

    def _moving(
        self, path: str, way: NDArray[np.float64], turns: NDArray[np.float64] | None, size_m: float, name: str
    ) -> None:
        rr = self._rr
        self._recording.log(path, rr.Points3D([[0.0, 0.0, 0.0]], radii=size_m, labels=[name]), static=True)
        # MuJoCo's quaternions begin with w, rerun's end with it.
        turned = {} if turns is None else {"quaternion": turns[:, [1, 2, 3, 0]]}
        columns = rr.Transform3D.columns(translation=way, **turned)
        self._recording.send_columns(path, self._indexes(np.arange(len(way))), columns)

    def _film(self, film: Path) -> None:
        """A picture a state; the last is held for a while."""
        video = self._rr.AssetVideo(path=film)
        self._recording.log("film", video, static=True)
        shown = np.asarray(video.read_frame_timestamps_nanos())[: len(self._time_s)]
        columns = self._rr.VideoFrameReference.columns_nanos(shown)
        self._recording.send_columns("film", self._indexes(np.arange(len(shown))), columns)

    def _scalars(self, path: str, steps: NDArray[np.intp], values: NDArray[np.float64]) -> None:
        if len(steps):
            self._recording.send_columns(path, self._indexes(steps), self._rr.Scalars.columns(scalars=values))

    def _indexes(self, steps: Sequence[int] | NDArray[np.intp]) -> list[Any]:
        # What a damaged record says happened after the end is shown at the end.
        there = np.clip(np.asarray(steps, dtype=np.intp), 0, len(self._time_s) - 1)
        time = self._rr.TimeColumn
        return [time("step", sequence=there), time("time", duration=self._time_s[there])]

    def _path(self, *parts: str) -> str:
        """Names are data: what separates parts of a path is escaped in them."""
        return str(self._rr.new_entity_path(list(parts)))


def _words(event: Mapping[str, Any]) -> str:
    return " ".join(filter(None, (event["kind"], event["object"], event["other"])))


exporter(
    Exporter(
        "rerun",
        "a recording (.rrd) of each chosen episode: film, tool path, things, actions, stage, events, instruction",
        plan,
        ending="-rerun",
        failures=FAILURES,
    )
)

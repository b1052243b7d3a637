"""Run folders written by hand, of episodes as a test wants them, and the viewer that serves them."""

from __future__ import annotations

import asyncio
import io
import json
import threading
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlencode

import numpy as np
import polars as pl
import uvicorn

from robodx.records.about import SCHEMA_VERSION
from robodx.records.schema import SCHEMA
from robodx.records.trajectory import Hand, Index
from robodx.report.viewer.app import make_app
from robodx.report.viewer.drawing import Films
from robodx.report.viewer.serving import open_port

HZ = 20.0
LATENCY = {"name": "actuator_latency", "severity": 0.4}


def episode(number: int, **said: Any) -> dict[str, Any]:
    """A row whose trial id is made of its number; a failure unless `success` is said."""
    is_success = said.get("success", False)
    events = [
        {"step": 10, "time_s": 0.5, "kind": "grasp", "object": "red cube", "other": "", "value": 0.0},
        {"step": 30, "time_s": 1.5, "kind": "drop", "object": "red cube", "other": "", "value": 0.0},
    ]
    row = {
        "trial_id": f"{number:016x}", "pair_id": f"pair{number}", "suite": "tasks", "task": "control/stack_cube",
        "task_version": 1, "family": "control", "tier": "easy", "tags": [], "robot": "panda", "policy": "guess",
        "seed": number, "repeat": 0, "perturbations": [], "clock": "lockstep", "attempt": 1,
        "outcome": "success" if is_success else "failure", "success": is_success,
        "progress": 1.0 if is_success else 0.5, "stages": 2, "stages_reached": 2 if is_success else 1,
        "stage_steps": [10, 40] if is_success else [10],
        "steps": 40, "duration_s": 2.0, "events": events, "quality_flags": [],
        "instructions": [{"step": 0, "text": "Put the red cube on the green cube."}],
    }  # fmt: skip
    if not is_success:
        says = {"step": 30, "object": "red cube", "condition": "held", "says": "the robot dropped red cube"}
        row |= {"failure_kind": "motor", "failure_type": "grasp stability", "failure_evidence": says}
    return row | said


def write_run(
    folder: Path, rows: list[dict[str, Any]], *, part: str = "all", about: Mapping[str, Any] | None = None
) -> Path:
    """A run folder with these episodes in one part; the description is written once."""
    (folder / "episodes").mkdir(parents=True, exist_ok=True)
    (folder / "trajectories").mkdir(exist_ok=True)
    table = io.BytesIO()
    pl.DataFrame(rows, schema=SCHEMA).write_parquet(table)
    # Not by polars: a folder's name need not be text.
    (folder / "episodes" / f"{part}.parquet").write_bytes(table.getvalue())
    card = {"stages": ["red cube grasped", "red cube on green cube"], "never": [], "varies": ["layout"]}
    said = {
        "schema_version": SCHEMA_VERSION,
        "request": {"policy": "guess"},
        "policy_spec": {"hz": HZ, "action_space": "ee_delta"},
        "tasks": {"control/stack_cube": card},
        "perturbations": {"actuator_latency": {"kind": "execution", "levels": {"v1": 0.2, "v2": 0.4}}},
    }
    (folder / "run.json").write_text(json.dumps({**said, **(about or {})}))
    return folder


def write_trajectory(run: Path, trial_id: str, steps: int = 40, names: Sequence[str] = ()) -> Path:
    """A tool that goes forward and down, and one thing that it takes along, or as many as there are names."""
    time_s = np.arange(steps + 1) / HZ
    tool = np.zeros((steps + 1, 1, 7))
    tool[:, 0, 0], tool[:, 0, 2], tool[:, 0, 3] = (
        np.linspace(-0.3, 0.1, steps + 1),
        np.linspace(0.4, 0.02, steps + 1),
        1,
    )
    joints = np.tile(np.linspace(-1, 1, 9), (steps + 1, 1))
    thing = np.concatenate([tool[:, 0, :3] * [1, 1, 0], np.tile([1.0, 0, 0, 0], (steps + 1, 1))], axis=1)
    actions = np.full((steps, 7), 0.01, dtype=np.float32)
    actions[:3] = np.nan
    path = run / "trajectories" / f"{trial_id}.npz"
    index = Index({}, {name: 9 + 7 * at for at, name in enumerate(names)}, (Hand("hand", 0, 7, ()),))
    qpos = np.concatenate([joints, *[thing] * (len(names) or 1)], axis=1)
    arrays: dict[str, Any] = {
        "time_s": time_s, "qpos": qpos, "tool_in_world": tool, "actions": actions,
        "stage": np.repeat([0, 1], [10, steps - 9]).astype(np.int32),
        "commands": np.zeros((steps, 8), dtype=np.float32), "is_command_perturbed": np.arange(steps) >= steps - 5,
    }  # fmt: skip
    if names:
        arrays["index"] = np.array(index.as_json())
    np.savez(path, **arrays)
    return path


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Viewer:
    """Asks the application itself, as a server would that leaves a path as it comes."""

    def __init__(self, root: Path, token: str | None = None) -> None:
        self._app = make_app(root, token)

    def __call__(self, path: str, method: str = "GET", **headers: str) -> Answer:
        wire = {"host": "localhost", **{name.lower(): value for name, value in headers.items()}}
        where, _, query = path.partition("?")
        scope = {
            "type": "http", "method": method, "path": unquote(where), "raw_path": where.encode(), "root_path": "",
            "query_string": query.encode(), "scheme": "http", "http_version": "1.1", "server": ("127.0.0.1", 80),
            "headers": [(name.encode(), value.encode()) for name, value in wire.items()],
        }  # fmt: skip
        sent: list[MutableMapping[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return await asyncio.Future()  # the client waits, and says nothing more

        async def send(message: MutableMapping[str, Any]) -> None:
            sent.append(message)

        asyncio.run(self._app(scope, receive, send))  # type: ignore[arg-type]
        reported = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        return Answer(sent[0]["status"], reported, b"".join(message.get("body", b"") for message in sent[1:]))

    def runs(self) -> dict[str, Any]:
        """By name."""
        return {run["name"]: run for run in self("/api/runs").json["runs"]}

    def episodes(self, **words: Any) -> Any:
        return self(f"/api/episodes?{urlencode(words, doseq=True)}").json

    def json(self, path: str, **words: Any) -> Any:
        answer = self(f"{path}?{urlencode(words, doseq=True)}")
        assert answer.status == 200, f"{answer.status}: {answer.body[:200]!r}"
        return answer.json


@contextmanager
def viewer(root: Path, token: str | None = None, films: Films | None = None) -> Iterator[str]:
    """The viewer of a folder at a free port, in a thread; its address without a slash at the end."""
    with open_port("127.0.0.1", 0) as listener:
        config = uvicorn.Config(make_app(root, token, films), log_level="error", lifespan="off", ws="none", http="h11")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = server.force_exit = True
            thread.join()
            if films is not None:
                films.close()

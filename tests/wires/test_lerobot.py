"""LeRobot checkpoints where LeRobot is not installed: the script as a real process, with a stand-in for the network."""

from __future__ import annotations

import ast
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect as connect_websocket

from robodx.errors import UserError
from robodx.policy_contract import EpisodeStart, make_policy
from robodx.records.trial import Trial
from robodx.running.rollout import rollout
from robodx.wires import lerobot_server
from robodx.wires.agreement import mismatches
from robodx.wires.base import Unreachable, WireError
from robodx.wires.lerobot_features import server_info
from robodx.wires.messages import encode_with_bytes, nest, pack
from robodx.wires.messages import unpack as unpack_reply
from robodx.wires.preset_files import as_toml, read_preset
from robodx.wires.protocols import lerobot
from robodx.wires.protocols.lerobot import SCRIPT, Launched, Place, open_checkpoint
from robodx.wires.remote import RemotePolicy
from tests.wires.fuzzing import fuzzed, observation

TASK = "control/stack_cube"
STATE = "observation.state"

# A Python that has no LeRobot to load: it runs the script's own main with something else to serve.
STAND_IN = """\
#!{python}
import importlib.util, os, sys, time
from pathlib import Path
import numpy as np

spec = importlib.util.spec_from_file_location("lerobot_server", sys.argv[1])
script = importlib.util.module_from_spec(spec)
sys.modules["lerobot_server"] = script
spec.loader.exec_module(script)

class Echo:
    def __init__(self, folder, device):
{load}
        self.about = {{"lerobot": {{
            "pid": os.getpid(), "type": "echo", "device": device, "n_obs_steps": 1, "n_action_steps": 4,
            "inputs": {{"observation.state": ["STATE", [8]]}}, "outputs": {{"action": ["ACTION", [8]]}},
            "looks_back": (Path(folder) / "looks_back").exists(), "uses_language": True,
        }}}}

    def answer(self, requests):
        return [self.one(request["observation.state"]) for request in requests]

    def one(self, state):
        if state[7] == 7:
            return script.Refused("seven is not for me")
        if state[7] == 9:
            os._exit(3)
        return {{"action": np.tile(state, (4, 1))}}

script.main(sys.argv[2:], load=Echo)
"""


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """As far as RoboDx itself reads it."""
    folder = tmp_path / "act"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"type": "act", "input_features": {}}))
    return folder


@pytest.fixture
def preset(tmp_path: Path) -> str:
    file = tmp_path / "echo.toml"
    file.write_text(
        as_toml(
            {
                "replan": 4,
                "prompt": "task",
                "state": {STATE: ["joint_positions", "gripper_opening"]},
                "actions": {"space": "joint", "keys": {"action": 8}},
            }
        )
    )
    return str(file)


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Path]]:
    """`stand_in(code)`: name a Python whose checkpoint runs this code when it is loaded."""

    def stand_in(load: str = "pass") -> Path:
        python = tmp_path / "python"
        python.write_text(STAND_IN.format(python=sys.executable, load=textwrap.indent(load, " " * 8)))
        python.chmod(0o755)
        monkeypatch.setenv(lerobot.PYTHON, str(python))
        return python

    monkeypatch.setenv(lerobot.SERVERS, "{}")
    yield stand_in
    assert not lerobot.RUNNING, "a test left its server behind"


@pytest.fixture
def wire(checkpoint: Path, stand_in: Callable[[str], Path]) -> Iterator[Launched]:
    stand_in("pass")
    wire = Launched(Place(checkpoint, timeout_s=5.0, start_s=20.0))
    yield wire
    wire.close()


def pid_of(wire: Launched) -> int:
    return int(wire.describe().about["lerobot"]["pid"])


def is_gone(pid: int, within_s: float = 10.0) -> bool:
    end = time.monotonic() + within_s
    while time.monotonic() < end:
        try:
            # Of a child that ended and was not waited for, the state is Z.
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.05)
    return False


def asked(value: float, episode: str = "episode") -> tuple[str, dict[str, Any]]:
    return episode, {STATE: np.array([0, 1, 2, 3, 4, 5, 6, value], dtype=np.float32), "task": "stack"}


# Through the script.


def test_a_policy_acts_through_the_script(checkpoint: Path, preset: str, stand_in: Callable[[str], Path]) -> None:
    stand_in("pass")
    policy = make_policy(f"lerobot:{checkpoint}?device=cpu&timeout=10", preset)
    assert isinstance(policy, RemotePolicy)
    assert policy.server_info.about["lerobot"]["device"] == "cpu"
    try:
        seen = observation(policy)
        policy.reset([EpisodeStart("episode", 0, TASK, "panda", 0, 0, "stack")])
        (chunk,) = policy.act([seen])
        assert isinstance(chunk, np.ndarray)
        expected = np.concatenate([seen.state["joint_positions"], seen.state["gripper_opening"]])
        np.testing.assert_array_equal(chunk, np.tile(expected, (4, 1)))
        (finished,) = rollout([Trial(TASK, 2, "lerobot", 0)], policy)
        assert finished.episode.outcome == "timeout", finished.episode.error
        assert finished.trajectory is not None and len(finished.trajectory.query_steps) == finished.episode.steps / 4
    finally:
        policy.close()


def test_several_requests_are_answered_in_order_and_one_that_fails_is_alone(wire: Launched) -> None:
    replies = wire.ask([asked(0.1), asked(7, "bad"), asked(0.3), asked(0.4)])
    assert isinstance(replies[1], WireError) and "seven is not for me" in str(replies[1])
    values = [reply["action"][0, 7] for reply in replies if not isinstance(reply, WireError)]
    assert values == pytest.approx([0.1, 0.3, 0.4])


def test_a_server_that_dies_is_an_error_and_is_started_again(wire: Launched, capfd: pytest.CaptureFixture[str]) -> None:
    first = pid_of(wire)
    (reply,) = wire.ask([asked(9)])
    assert isinstance(reply, WireError)
    assert is_gone(first)
    (reply,) = wire.ask([asked(0.5)])
    assert not isinstance(reply, WireError) and reply["action"].shape == (4, 8)
    assert pid_of(wire) != first
    assert f"The LeRobot server for {wire._place.folder} died" in capfd.readouterr().err


def test_wires_of_a_process_share_a_server_and_the_last_one_stops_it(wire: Launched) -> None:
    pid = pid_of(wire)
    other = Launched(wire._place)
    assert pid_of(other) == pid
    wire.close()
    assert pid_of(other) == pid
    other.close()
    assert is_gone(pid)


def test_another_device_has_a_server_of_its_own(wire: Launched) -> None:
    other = Launched(Place(wire._place.folder, device="cuda", start_s=20.0))
    try:
        assert pid_of(other) != pid_of(wire)
        assert other.describe().about["lerobot"]["device"] == "cuda"
    finally:
        other.close()


ASK_PID = """
import sys
from pathlib import Path
from robodx.wires.protocols.lerobot import Launched, Place
wire = Launched(Place(Path(sys.argv[1]), start_s=20.0))
print(wire.describe().about["lerobot"]["pid"], flush=True)
"""


def test_worker_processes_share_the_server_of_the_one_that_started_them(wire: Launched) -> None:
    pid = pid_of(wire)
    worker = subprocess.run(
        [sys.executable, "-c", ASK_PID, wire._place.folder], capture_output=True, text=True, check=True
    )
    assert int(worker.stdout) == pid
    assert "Starting" not in worker.stderr
    # And it outlives them.
    assert pid_of(wire) == pid


def test_without_the_server_a_worker_says_where_none_answers(wire: Launched, monkeypatch: pytest.MonkeyPatch) -> None:
    pid_of(wire)
    port = json.loads(os.environ[lerobot.SERVERS])[wire._place.key]
    wire.close()
    monkeypatch.setenv(lerobot.SERVERS, json.dumps({wire._place.key: port}))
    with pytest.raises(Unreachable, match=f"127.0.0.1:{port}"):
        Launched(replace(wire._place, start_s=0.3)).describe()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, None])
def test_the_server_never_outlives_who_started_it(wire: Launched, how: signal.Signals | None) -> None:
    """Killed in the middle, or simply at its end without a word."""
    code = ASK_PID if how is None else f"{ASK_PID}\nimport time\ntime.sleep(60)"
    with subprocess.Popen(
        [sys.executable, "-c", code, wire._place.folder], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        if how is not None:
            parent.send_signal(how)
        parent.wait(20)
    assert is_gone(pid)


# Starts that fail.


def test_a_crash_while_loading_is_told_in_its_own_words(checkpoint: Path, stand_in: Callable[[str], Path]) -> None:
    stand_in('print("half a network"); raise RuntimeError("size mismatch for model.encoder")')
    with pytest.raises(UserError, match=r"did not start:\n(.*\n)*half a network\n(.*\n)*.*size mismatch for model"):
        open_checkpoint(str(checkpoint)).describe()


def test_what_the_script_refuses_is_told_in_a_line(checkpoint: Path, stand_in: Callable[[str], Path]) -> None:
    stand_in('raise script.Refused("it rewards, and does not act")')
    with pytest.raises(UserError, match=r"did not start:\nRefused: it rewards, and does not act$"):
        open_checkpoint(str(checkpoint)).describe()


def test_a_script_that_is_never_ready_is_stopped_at_the_deadline(
    checkpoint: Path, tmp_path: Path, stand_in: Callable[[str], Path]
) -> None:
    # Nor does it listen: a start that hangs, as an installation may, is killed.
    pid_file = tmp_path / "pid"
    python = stand_in("pass")
    python.write_text(f"#!/bin/sh\necho $$ > {pid_file}\necho fetching\nexec sleep 60\n")
    with pytest.raises(UserError, match=r"not ready after 1 s \(\?connect=SECONDS waits longer\):\nfetching"):
        open_checkpoint(f"{checkpoint}?connect=1").describe()
    assert is_gone(int(pid_file.read_text()))


def test_what_names_no_python_is_a_clear_mistake(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(lerobot.PYTHON, "/nowhere/python")
    with pytest.raises(UserError, match="ROBODX_LEROBOT_PYTHON names /nowhere/python, which cannot be executed"):
        open_checkpoint(str(checkpoint)).describe()


def test_without_lerobot_and_uv_it_is_said_what_to_install(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(lerobot.PYTHON, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "uv", None)
    with pytest.raises(UserError, match="pip install uv"):
        open_checkpoint(str(checkpoint)).describe()


def test_uv_is_given_the_script_with_its_dependencies(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(lerobot.PYTHON, raising=False)
    uv = tmp_path / "uv"
    uv.write_text('#!/bin/sh\necho "asked: $*"\nexit 1\n')
    uv.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(UserError, match=r"asked: run --script .*lerobot_server\.py .* --device cuda"):
        open_checkpoint(f"{checkpoint}?device=cuda").describe()


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("nowhere/at/all", "there is no checkpoint folder .*nowhere/at/all"),
        ("lerobot/act_x", r"Nothing is downloaded here; .* hf download lerobot/act_x --local-dir"),
        (".", "has no config.json"),
        ("act?devise=cpu", 'no option "devise". There are: device, timeout, connect'),
        ("act?timeout=soon", 'timeout must be seconds, .* not "soon"'),
    ],
)
def test_a_wrong_place_is_a_clear_mistake(
    checkpoint: Path, monkeypatch: pytest.MonkeyPatch, place: str, words: str
) -> None:
    monkeypatch.chdir(checkpoint.parent)
    with pytest.raises(UserError, match=words):
        open_checkpoint(place)


@pytest.mark.parametrize("content", ["{", "[]", '{"architectures": ["Llama"]}'])
def test_another_library_s_checkpoint_is_refused(checkpoint: Path, content: str) -> None:
    (checkpoint / "config.json").write_text(content)
    with pytest.raises(UserError, match=r"config\.json"):
        open_checkpoint(str(checkpoint))


def test_a_training_s_folder_is_good_enough(checkpoint: Path) -> None:
    inside = checkpoint.parent / "last" / "pretrained_model"
    inside.parent.mkdir()
    checkpoint.rename(inside)
    assert Place.parse(str(inside.parent)).folder == inside


# What a checkpoint says of itself.


def greeting(inputs: dict[str, Any], width: int, **more: Any) -> dict[str, Any]:
    about = {"type": "act", "n_action_steps": 50, "looks_back": False, "uses_language": False, **more}
    return {"lerobot": {"inputs": inputs, "outputs": {"action": ["ACTION", [width]]}, **about}}


def picture(height: int, width: int) -> list[Any]:
    return ["VISUAL", [3, height, width]]


@pytest.mark.parametrize("looks_back", [False, True])
def test_a_draft_is_a_preset_that_fits(looks_back: bool) -> None:
    inputs = {"observation.images.left": picture(48, 64), "observation.images.wrist": picture(96, 96)}
    found = server_info(greeting({**inputs, STATE: ["STATE", [8]]}, 8, looks_back=looks_back, uses_language=True))
    assert found.draft is not None
    preset = read_preset(found.draft)
    assert mismatches(preset, found) == []
    assert {key: (one.camera, one.height, one.width) for key, one in preset.images.items()} == {
        "observation.images.left": ("left", 48, 64),
        "observation.images.wrist": ("wrist", 96, 96),
    }
    assert preset.state == {STATE: ("joint_positions", "gripper_opening")}
    assert (preset.actions.space, preset.actions.keys) == ("joint", {"action": 8})
    assert (preset.prompt, preset.replan) == ("task", 1 if looks_back else 50)
    assert "camera" not in preset.summary


def test_a_draft_says_which_cameras_were_guessed() -> None:
    keys = ("observation.images.top", "observation.image", "observation.images.my_wrist")
    found = server_info(greeting({key: picture(8 + index, 8) for index, key in enumerate(keys)}, 7))
    assert found.draft is not None
    preset = read_preset(found.draft)
    assert [one.camera for one in preset.images.values()] == ["front", "left", "wrist"]
    assert all(f"the camera of {key}" in preset.summary for key in keys)
    assert mismatches(preset, found) == [] and preset.prompt == "" and preset.state == {}


@pytest.mark.parametrize(
    ("state", "action", "parts", "space", "note"),
    [
        (8, 7, ("ee_position", "ee_rotation_vector_down", "finger_positions"), "ee_delta", "the action space"),
        (6, 6, ("joint_positions",), "joint", "the state's parts and the action space"),
    ],
)
def test_a_draft_guesses_by_widths(state: int, action: int, parts: tuple[str, ...], space: str, note: str) -> None:
    found = server_info(greeting({STATE: ["STATE", [state]]}, action))
    assert found.draft is not None
    preset = read_preset(found.draft)
    assert (preset.state[STATE], preset.actions.space) == (parts, space)
    assert preset.summary.endswith(note)


def test_what_a_checkpoint_needs_and_a_preset_lacks_is_named() -> None:
    """A width, a picture, the world's state that RoboDx shows nobody, and the episode for one that looks back."""
    found = server_info(
        greeting(
            {
                "observation.images.front": picture(64, 64),
                "observation.environment_state": ["ENV", [10]],
                STATE: ["STATE", [7]],
            },
            7,
            looks_back=True,
        )
    )
    preset = read_preset(
        {
            "name": "mine",
            "images": {"observation.images.front": {"camera": "front", "height": 32, "width": 64}},
            "state": {STATE: ["ee_pose", "gripper_opening"]},
            "actions": {"keys": {"action": 8}},
        }
    )
    assert mismatches(preset, found) == [
        "observation.images.front is (32, 64, 3) in the preset, but the server wants (64, 64, 3)",
        "the server needs observation.environment_state, which the preset does not send",
        "observation.state is (8,) in the preset, but the server wants (7,)",
        "the server needs robodx, which the preset does not send: tells_episode must be true",
        "action is 8 wide in the preset, but 7 at the server",
    ]


def test_a_checkpoint_that_looks_back_is_not_run_without_episodes(
    checkpoint: Path, preset: str, stand_in: Callable[[str], Path]
) -> None:
    stand_in("pass")
    (checkpoint / "looks_back").touch()
    with pytest.raises(UserError, match="tells_episode must be true"):
        make_policy(f"lerobot:{checkpoint}", preset)


def test_without_a_preset_it_is_said_how_to_draft_one(checkpoint: Path, stand_in: Callable[[str], Path]) -> None:
    stand_in("pass")
    with pytest.raises(UserError, match=f"robodx check lerobot:{checkpoint} --write-preset my.toml drafts"):
        make_policy(f"lerobot:{checkpoint}")


@pytest.mark.parametrize("about", [None, {}, {"inputs": 3}, greeting({STATE: "eight"}, 8)["lerobot"]])
def test_a_nonsensical_description_is_an_error(about: Any) -> None:
    with pytest.raises(WireError, match="no description of a LeRobot checkpoint"):
        server_info({"lerobot": about})


# The script.


def test_the_script_stands_alone_with_pinned_dependencies() -> None:
    source = SCRIPT.read_text()
    names = {
        name
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names])
    }
    assert not [name for name in names if name is None or name.startswith("robodx")]
    header = [line.removeprefix("# ") for line in source.splitlines()[1:] if line.startswith("# ")]
    metadata = tomllib.loads("\n".join(header[: header.index("///")]))
    assert any(one.startswith("lerobot[") and "==" in one for one in metadata["dependencies"])
    # LeRobot's own bound: with an older Python uv would find no LeRobot, and say so at length.
    assert metadata["requires-python"] == ">=3.12"


def test_the_script_answers_openpi_s_protocol_whatever_it_is_sent(wire: Launched) -> None:
    """A text and a close for what is no request, and the next connection is served."""
    pid = pid_of(wire)
    assert wire._server is not None
    url = f"ws://127.0.0.1:{wire._server.port}"
    _, request = asked(0.5)
    bad: list[bytes | str] = ["text", b"", b"\xc1", msgpack.packb([1]), msgpack.packb({"observation": {"state": 3}})]
    for frame in bad:
        with connect_websocket(url, compression=None) as socket:
            assert isinstance(socket.recv(5), bytes)
            socket.send(frame)
            answer = socket.recv(5)
            assert isinstance(answer, str) and "Traceback (most recent call last)" in answer
            with pytest.raises(ConnectionClosed) as closed:
                socket.recv(5)
            assert closed.value.rcvd is not None and closed.value.rcvd.code == 1011
    with connect_websocket(url, compression=None) as socket:
        socket.recv(5)
        socket.send(pack(nest(request), encode_with_bytes))
        reply = socket.recv(5)
        assert isinstance(reply, bytes)
        np.testing.assert_array_equal(unpack_reply(reply)["action"], np.tile(request[STATE], (4, 1)))
    assert pid_of(wire) == pid


def test_the_script_reads_no_bytes_as_anything_but_plain_values(fuzz_count: int) -> None:
    _, request = asked(0.5)
    with_episode = {**nest(request), "robodx": {"episode_id": "a", "step": 3}}
    valid = pack(with_episode, encode_with_bytes)
    read = lerobot_server.unpack(valid)
    np.testing.assert_array_equal(read[STATE], request[STATE])
    assert (read["task"], read["robodx"]) == ("stack", {"episode_id": "a", "step": 3})
    outcomes = set()
    for data in fuzzed([valid], count=fuzz_count):
        try:
            lerobot_server.unpack(data)
            outcomes.add("read")
        except Exception:
            outcomes.add("refused")
    assert outcomes == {"read", "refused"}
    for dtype in ("|O", "|V8", "<c8", "<M8[s]"):
        array = {b"__ndarray__": True, b"data": b"12345678", b"dtype": dtype, b"shape": [1]}
        with pytest.raises(ValueError, match="only booleans, integers and floats are taken"):
            lerobot_server.unpack(msgpack.packb({"observation": array}))

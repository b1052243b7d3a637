"""The scene parser that asks a vision-language model, against a server on a real socket."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from robodx.chat_completions import ChatError, Endpoint
from robodx.datasets.stills import from_bytes
from robodx.errors import UserError
from robodx.grounding.grounded_policy import GroundedPolicy
from robodx.grounding.parsers.vlm import SCHEMA, VlmParser, read_scene
from robodx.grounding.refining import refined
from robodx.policy_contract import Calibration, CameraRequest, PolicySpec, make_policy
from robodx.records.trial import Trial
from robodx.running.environment import Environment
from robodx.running.rollout import rollout
from robodx.sim.build import camera_quaternion
from robodx.sim.geometry import Pose
from robodx.sim.scene import CAMERAS
from robodx.tasks.base import TASKS
from tests.chatting import SOLID_AND_BOX, Reply, chat_server

ANSWER: dict[str, Any] = json.loads(SOLID_AND_BOX)


def calibration(name: str) -> Calibration:
    camera = next(camera for camera in CAMERAS if camera.name == name)
    return Calibration(camera.fovy_deg, Pose(camera.position, camera_quaternion(camera)))


FRONT = calibration("front")


def test_what_is_missing_in_the_environment_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ROBODX_VLM_URL", "ROBODX_VLM_MODEL", "ROBODX_VLM_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UserError, match="ROBODX_VLM_URL and ROBODX_VLM_MODEL must be in the environment"):
        make_policy("sgl+vlm:act")
    monkeypatch.setenv("ROBODX_VLM_URL", "localhost")
    monkeypatch.setenv("ROBODX_VLM_MODEL", "eyes")
    with pytest.raises(UserError, match='ROBODX_VLM_URL: "localhost" is no address'):
        make_policy("sgl+vlm:act")
    monkeypatch.setenv("ROBODX_VLM_URL", "http://me:word@host/v1")
    with pytest.raises(UserError, match="put the key into ROBODX_VLM_KEY"):
        make_policy("sgl+vlm:act")


# The scene that it tells.


def test_an_answer_is_read_into_objects() -> None:
    scene = read_scene(ANSWER, FRONT)
    cube, box = scene.objects
    assert not scene.is_measured
    assert (cube.name, cube.colour, cube.size, cube.state) == ("cube", "red", "small", "solid")
    assert box.state == "hollow" and "container" in box.categories
    assert refined("Put the small object in the box.", scene).text == "Put the red cube in the box."


@pytest.mark.parametrize(
    ("camera", "in_picture", "for_robot"),
    [
        ("front", "left", "right"), ("front", "top", "near"), ("back_left", "left", "left"),
        ("back_left", "top", "far"), ("left", "right", "near"), ("left", "top", "right"), ("right", "right", "far"),
        ("front", "middle", "middle"),
    ],
)  # fmt: skip
def test_sides_of_a_picture_are_the_robots_by_where_the_camera_stands(
    camera: str, in_picture: str, for_robot: str
) -> None:
    told = {"objects": [ANSWER["objects"][0] | {"position": in_picture}]}
    assert read_scene(told, calibration(camera)).objects[0].position == for_robot


@pytest.mark.parametrize(
    ("said", "name", "colour"),
    [
        (("Ball", "Gray"), "sphere", "grey"), (("pyramid", "violet"), "triangular block", "purple"),
        (("wooden block", "purple blue"), "cube", "blue"), (("t-block", "chartreuse"), "T-block", None),
        (("banana", None), "banana", None),
    ],
)  # fmt: skip
def test_other_words_are_understood_and_unknown_ones_are_never_said(
    said: tuple[str, str | None], name: str, colour: str | None
) -> None:
    one, box = ANSWER["objects"]
    scene = read_scene({"objects": [one | {"name": said[0], "colour": said[1]}, box]}, FRONT)
    assert (scene.objects[0].name, scene.objects[0].colour) == (name, colour)
    text = refined("Put the small object in the box.", scene).text
    assert text == "Put the small object in the box." if said[0] == "banana" else "object" not in text


def test_two_on_the_same_side_are_not_told_apart_by_it() -> None:
    cube = ANSWER["objects"][0]
    told = {"objects": [cube, cube | {"size": "big"}, cube | {"name": "sphere", "colour": "blue"}]}
    text = refined("Pick up the big cube.", read_scene(told, FRONT)).text
    assert text == "Pick up the big cube."


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"size": "tiny"}, "objects[0].size is 'tiny': it must be one of small, normal, big"),
        ({"position": "there"}, "objects[0].position is 'there'"),
        ({"state": None}, "objects[0].state is None"),
        ({"state": ["solid"]}, "objects[0].state is ['solid']"),
        ({"name": ""}, "objects[0].name is '', not a noun"),
        ({"name": 3}, "objects[0].name is 3, not a noun"),
        ({"categories": "cube"}, "objects[0].categories is 'cube', not a list of words"),
        ({"colour": 4}, "objects[0].colour is 4, neither a word nor null"),
        ({"more": 1}, "objects[0] must have exactly the fields"),
    ],
)
def test_what_does_not_fit_the_schema_is_told_by_its_place(change: dict[str, Any], wrong: str) -> None:
    with pytest.raises(ValueError) as refusal:
        read_scene({"objects": [ANSWER["objects"][0] | change]}, FRONT)
    assert wrong in str(refusal.value)


@pytest.mark.parametrize("answer", [[], {}, {"objects": {}}, {"objects": [], "more": 1}, {"objects": ["cube"]}, None])
def test_what_is_no_scene_is_refused(answer: object) -> None:
    with pytest.raises(ValueError):
        read_scene(answer, FRONT)
    with pytest.raises(ValueError, match="51 objects are more than 50"):
        read_scene({"objects": [ANSWER["objects"][0]] * 51}, FRONT)


# As a policy.


def test_it_looks_at_a_picture_of_the_policys_own_or_asks_for_one() -> None:
    parser = VlmParser(Endpoint("http://host/v1", "eyes"))
    own = PolicySpec(cameras=(CameraRequest("wrist", 96, 96), CameraRequest("left", 64, 64)))
    assert parser.spec(own) == replace(own, weights_digest="told by eyes")
    assert parser.spec(PolicySpec()).cameras == (CameraRequest("front", 256, 256),)
    only_wrist = PolicySpec(cameras=(CameraRequest("wrist", 96, 96),), weights_digest="abc")
    assert [camera.name for camera in parser.spec(only_wrist).cameras] == ["wrist", "front"]
    assert parser.spec(only_wrist).weights_digest == "abc told by eyes"


def test_a_policy_is_told_what_the_model_makes_clearer_and_a_failure_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    task = "bias/put_solid_in_box"
    trials = [Trial(task, TASKS[task].version, "sgl+vlm:still", seed) for seed in range(2)]

    with chat_server(SOLID_AND_BOX, Reply(b"no more", 403)) as chat:
        monkeypatch.setenv("ROBODX_VLM_URL", chat.url)
        monkeypatch.setenv("ROBODX_VLM_MODEL", "eyes")
        monkeypatch.setenv("ROBODX_VLM_KEY", "k3y")
        policy = make_policy("sgl+vlm:open_loop")
        assert isinstance(policy, GroundedPolicy)
        environments = [Environment(one, policy.spec) for one in trials]
        policy.reset([environment.start() for environment in environments])
        seen = [environment.observe() for environment in environments]
        told, refused = policy.act(seen)
        for environment in environments:
            environment.close()
        assert isinstance(told, np.ndarray) and isinstance(refused, ChatError)
        assert policy.refined_instruction(trials[0].id) == "Put the red cube in the box."
        ((episode, _),) = rollout(trials[1:], policy)
    assert episode.outcome == "error" and "k3y" not in (episode.error or "")
    assert "answers 403: it refuses the key in ROBODX_VLM_KEY. no more" in (episode.error or "")
    assert chat.keys == ["Bearer k3y"] * 3
    text, picture = chat.asked[0]["messages"][0]["content"]
    assert f'instruction is: "{seen[0].instruction}"' in text["text"]
    _, _, data = picture["image_url"]["url"].partition(",")
    assert np.array_equal(from_bytes(base64.b64decode(data)), seen[0].images["front"])
    assert chat.asked[0]["response_format"]["json_schema"]["schema"] == SCHEMA

"""The recorded attributes of a situation are read off its words, scene and cameras as they are at its beginning."""

from __future__ import annotations

from dataclasses import replace

import pytest

from robodx.language.meaning import Clause, Instruction, Meaning, move, pick, put, touch
from robodx.language.phrasing import phrase, say
from robodx.language.reference import Rank, Reference, Where, the
from robodx.policy_contract import CameraRequest, PolicySpec, make_policy
from robodx.records.trial import Trial
from robodx.running.environment import Environment
from robodx.running.rollout import rollout
from robodx.scoring.events import Event, Roll, at
from robodx.scoring.relations import HandNear
from robodx.sim.objects import bin_, cube, sphere
from robodx.sim.scene import CAMERAS, Light, tabletop
from robodx.situations.attributes import attributes
from robodx.tasks.base import TASKS

SCENE = tabletop(
    cube("red", 0.03).named("big").at(0.05, 0.2, yaw_rad=1.8),
    cube("blue", 0.02).named("small").at(-0.05, -0.2),
    sphere("red").named("ball").at(-0.2, 0.0),
    bin_("purple").named("left bin").at(0.1, 0.1),
    bin_("green").named("right bin").at(0.1, -0.1),
    cube("green").named("not yet").at(0.0, 0.0).parked(),
)


def of(*clauses: Clause) -> dict[str, str | float]:
    return attributes(say(*clauses), SCENE).values


def test_the_target_and_the_goal_are_described_as_they_are_in_the_scene() -> None:
    found = of(put("red cube", "in", "green bin"))
    expected: dict[str, object] = {
        "act": "put in", "verb": "put … in", "phrasing": "train", "words": 8, "acts": 1, "clauses": 1,
        "target_kind": "cube", "target_colour": "red", "target_side": "left", "target_depth": "far",
        "target_edge": "yes", "target_size_m": 0.06, "target_x_m": 0.05, "target_y_m": 0.2,
        "goal_kind": "bin", "goal_colour": "green", "goal_cue": "colour", "goal_side": "right", "goal_depth": "far",
        "things": 5, "loose_things": 3, "things_of_target_kind": 2, "distractors": 1,
    }  # fmt: skip
    assert {name: found[name] for name in expected} == expected
    # A right angle and 13 degrees look like 13.
    assert found["target_turn_deg"] == pytest.approx(13.13, abs=0.01)


def test_what_a_situation_does_not_have_is_not_among_its_attributes() -> None:
    assert not [name for name in of(pick("red cube")) if name.startswith("goal")]
    assert "target_turn_deg" not in of(pick("sphere"))
    unknown = of(pick("yellow cube"))
    assert unknown["act"] == "pick" and "target_kind" not in unknown


def test_grasps_are_those_that_the_clauses_need() -> None:
    taken = put("red cube", "in", "green bin")
    assert of(taken)["grasps"] == 1 and of(touch("red cube"), taken)["grasps"] == 1
    assert of(taken, pick("blue cube"))["grasps"] == 2
    # It is in the hand already.
    assert of(pick("red cube"), taken)["grasps"] == 1


def test_the_first_event_is_told_by_when_it_happens() -> None:
    asked, stop = say(pick("sphere")), Roll("ball", (0.1, 0.0))
    cases = {"none": (), "early": (at(0.9, stop), at(3.0, stop)), "late": (at(1.0, stop),)}
    for level, events in cases.items():
        assert attributes(asked, SCENE, events=events).values["first_event"] == level
    answered = (Event(HandNear("ball", 0.1), stop),)
    assert attributes(asked, SCENE, events=answered).values["first_event"] == "as it acts"


def test_a_direction_has_a_goal_position_and_no_goal_thing() -> None:
    found = of(move("blue cube", "left", 0.15))
    assert (found["goal_x_m"], found["goal_y_m"]) == pytest.approx((-0.05, -0.05))
    assert found["goal_side"] == "middle" and "goal_kind" not in found


@pytest.mark.parametrize(
    ("reference", "cue"),
    [
        (the("sphere"), "shape"),
        (the("red cube"), "colour and shape"),
        (Reference("cube", rank=Rank("leftmost")), "place"),
        (Reference("cube", rank=Rank("left", 2)), "shape and ordinal"),
        (Reference("cube", where=(Where("left of", the("sphere")),)), "shape and relation"),
    ],
)
def test_the_cue_is_what_tells_the_target_from_what_it_might_be_taken_for(reference: Reference, cue: str) -> None:
    assert of(pick(reference))["target_cue"] == cue


def test_the_phrasing_is_found_in_the_text() -> None:
    meaning = Meaning((pick("red cube"),))
    for split in ("train", "test"):
        found = attributes(phrase(meaning, split, 1), SCENE).values
        assert found["phrasing"] == split
    scrambled = attributes(Instruction("Cube red the up", meaning), SCENE).values
    assert (scrambled["phrasing"], scrambled["verb"], scrambled["words"]) == ("other", "other", 4)


def test_cameras_light_and_room_are_those_of_the_policy_and_the_scene() -> None:
    moved = tuple(replace(camera, position=(*camera.position[:2], camera.position[2] + 0.1)) for camera in CAMERAS)
    dim = (Light("lamp", (0.0, 0.0, 2.0), (0.1, 1.0, -1.0), brightness=0.25, colour=(0.9, 0.5, 0.1)),)
    scene = replace(SCENE, cameras=moved, lights=dim)
    found = attributes(say(pick("sphere")), scene, (CameraRequest("front", 64, 96), CameraRequest("wrist"))).values
    assert (found["cameras"], found["picture"]) == ("front, wrist", "96×64, 128×128")
    assert found["camera_offset_m"] == pytest.approx(0.1)
    assert (found["light_brightness"], found["light_colour"], found["light_from"]) == (0.25, "orange", "right")
    room = {name: value for name, value in found.items() if name.startswith("room_")}
    assert any("table" in name and isinstance(value, str) for name, value in room.items())


def test_every_task_has_attributes_of_its_first_target() -> None:
    for task in TASKS.entries():
        situation = task.placed(0)
        found = attributes(situation.instruction, situation.scene).values
        assert {"act", "target_kind", "target_side", "target_cue", "words"} <= found.keys(), task.id
        assert all(type(value) in (str, float) for value in found.values()), task.id


def test_an_episode_records_them_as_perturbations_made_them() -> None:
    trial = Trial("primitive/press_switch", TASKS["primitive/press_switch"].version, "expert", 0)
    perturbed = replace(trial, perturbations=(("paraphrase", 1.0), ("brightness", 0.5)))
    plain, other = (finished.episode for finished in rollout([trial, perturbed], make_policy("expert")))
    assert plain.attributes is not None and other.attributes is not None
    before, after = plain.attributes.values, other.attributes.values
    assert (before["phrasing"], after["phrasing"]) == ("train", "test")
    assert after["light_brightness"] != before["light_brightness"]
    assert {name for name in before if name.startswith("target")} <= before.keys() & after.keys()


@pytest.mark.parametrize("task", ["language/synonym", "language/nested_reference", "control/stack_cube"])
@pytest.mark.parametrize(("applied", "split"), [((), "train"), ((("paraphrase", 1.0),), "test")])
def test_of_which_split_a_sentence_is_is_told_of_sentences_of_the_tasks_own_too(
    task: str, applied: tuple[tuple[str, float], ...], split: str
) -> None:
    environment = Environment(Trial(task, TASKS[task].version, "expert", 3, perturbations=applied), PolicySpec())
    found = attributes(environment.first_instruction, environment.simulation.scene)
    assert found.values["phrasing"] == split

"""Films: the pictures that the policy was given, bit for bit, and what is written where."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from robodx.errors import UserError
from robodx.perturbations.base import PERTURBATIONS
from robodx.policy_contract import CameraRequest, PolicySpec
from robodx.records.film_name import CAPTIONED, film_name, is_captioned, plain_film
from robodx.records.trajectory import Trajectory
from robodx.records.trial import Trial
from robodx.running.environment import Environment
from robodx.sim.build import camera_quaternion
from robodx.sim.contacts import ROBOT
from robodx.sim.geometry import Pose
from robodx.sim.render import Renderer
from robodx.video.captions import Captions
from robodx.video.film import asked, film_frames
from robodx.video.framing import overview_of
from robodx.video.layout import AMBER, GREEN, LINE, PAPER, RED, Box, Layout, fitted
from robodx.video.lettering import CROSS, TICK, wrapped, written
from robodx.video.mp4 import write_mp4
from robodx.video.rendering import logged_events, restored, standing
from robodx.video.seen import Eyes, deviations, recorded_spec
from robodx.video.show import label
from tests.filming import CAMERAS, Waver, about, played

TURNED = ("camera turned", "yaw 6, pitch 0")
IMAGE_STRESSORS = sorted(
    entry.name for entry in PERTURBATIONS.entries() if entry.kind == "sensor" and "v2" in entry.levels
)


def looks(row: dict[str, Any], trajectory: Trajectory, described: dict[str, Any]) -> dict[int, dict[str, Any]]:
    """The pictures that are made again, by step."""
    spec = recorded_spec(described)
    environment = Environment(Trial.of_row(row), spec, quality=described["request"]["quality"])
    eyes, found = Eyes.of(environment, trajectory), {}
    for state in restored(environment, trajectory, logged_events(row)):
        if (look := eyes.look(state.step)) is not None:
            found[look.step] = dict(look.images)
    environment.close()
    return found


def check_same(row: dict[str, Any], trajectory: Trajectory, policy: Waver, quality: str = "fast") -> None:
    again = looks(row, trajectory, about(policy.spec, quality))
    shown = {one.step: one for one in policy.seen}
    assert list(again) == list(shown) and len(again) >= 5
    for step, observation in shown.items():
        for name, image in observation.images.items():
            np.testing.assert_array_equal(again[step][name], image, err_msg=f"{name} at step {step}")


def test_a_film_has_the_pictures_that_the_policy_got_with_noise_and_a_turned_camera() -> None:
    row, trajectory, policy = played(perturbations=(("noise", 25.0),), interventions=(TURNED,), quality="standard")
    check_same(row, trajectory, policy, "standard")
    clean = looks({**row, "perturbations": []}, trajectory, about(policy.spec, "standard"))
    still = looks({**row, "interventions": []}, trajectory, about(policy.spec, "standard"))
    fast = looks(row, trajectory, about(policy.spec))
    assert not any(np.array_equal(clean[3][name], policy.seen[1].images[name]) for name in ("front", "wrist"))
    assert not np.array_equal(still[3]["front"], policy.seen[1].images["front"])
    assert not np.array_equal(fast[3]["front"], policy.seen[1].images["front"])


@pytest.mark.parametrize("name", ["stale_frames", "camera_disconnect", "frame_drop"])
def test_pictures_that_hang_on_earlier_ones_or_on_the_time_are_the_same(name: str) -> None:
    level = PERTURBATIONS[name].levels["v3"]
    row, trajectory, policy = played(perturbations=((name, level),), steps=60)
    check_same(row, trajectory, policy)


@pytest.mark.thorough
@pytest.mark.parametrize("name", IMAGE_STRESSORS)
def test_pictures_are_the_same_under_every_stressor_of_cameras(name: str) -> None:
    check_same(*played(perturbations=((name, PERTURBATIONS[name].levels["v2"]),), steps=60))


@pytest.mark.thorough
@pytest.mark.parametrize(
    "task", ["dynamic/colour_swap_pick", "dynamic/catch_after_light", "adaptability/pick_other_cube"]
)
def test_pictures_are_the_same_after_events(task: str) -> None:
    row, trajectory, policy = played(task, steps=90)
    assert logged_events(row)
    check_same(row, trajectory, policy)


# What is drawn where.


def cut(film: NDArray[np.uint8], box: Box) -> NDArray[np.uint8]:
    return film[box.top : box.top + box.height, box.left : box.left + box.width]


def film_of(row: dict[str, Any], trajectory: Trajectory, policy: Waver, **said: Any) -> list[NDArray[np.uint8]]:
    return list(film_frames(row, trajectory, about(policy.spec), **said))


def test_a_film_shows_what_the_policy_saw_last_beside_an_overview_that_stands() -> None:
    turned = played(interventions=(TURNED,), steps=3)
    row, trajectory, policy = turned
    film = film_of(*turned, is_plain=True)
    assert len(film) == 4 + 5
    layout = Layout.of(CAMERAS)
    assert film[0].shape == (layout.height, layout.width, 3)
    for step, seen in ((0, 0), (2, 0), (3, 1)):
        for name, box in layout.seen.items():
            shown = fitted(policy.seen[seen].images[name], box.height, box.width)
            np.testing.assert_array_equal(cut(film[step], box), shown)
    there = film_of({**row, "interventions": []}, trajectory, policy, is_plain=True)
    box = layout.overview
    overview, as_it_was = (
        one[0][box.top : box.top + box.height, box.left : box.left + box.width] for one in (film, there)
    )
    np.testing.assert_array_equal(overview, as_it_was)


def test_the_overview_of_an_episode_that_diverged_shows_what_can_be_seen() -> None:
    row, trajectory, policy = played(steps=3)
    environment = Environment(Trial.of_row(row), policy.spec)
    usual = overview_of(environment, trajectory)
    joints = sorted((trajectory.index.joints if trajectory.index else {}).values())
    diverged = trajectory.qpos.copy()
    diverged[-1, joints[:7]] = np.nan
    seen = overview_of(environment, replace(trajectory, qpos=diverged))
    environment.close()
    assert 0 < seen.fovy_deg < 120 and np.allclose(seen.position, usual.position)


@pytest.mark.parametrize("is_raised", [False, True])
def test_the_overview_never_cuts_the_robot_off_and_keeps_all_of_the_front_camera(is_raised: bool) -> None:
    row, trajectory, policy = played(steps=3)
    joints = sorted((trajectory.index.joints if trajectory.index else {}).values())
    raised = trajectory.qpos.copy()
    raised[-1, joints[:7]] = 0.0
    trajectory = replace(trajectory, qpos=raised if is_raised else trajectory.qpos)
    environment = Environment(Trial.of_row(row), policy.spec)
    simulation, size, margin = environment.simulation, 96, 48
    before = simulation.data.qpos.copy()
    overview = overview_of(environment, trajectory)
    np.testing.assert_array_equal(simulation.data.qpos, before)
    renderer = Renderer(simulation, largest=(size + 2 * margin, size + 2 * margin))
    for qpos in (trajectory.qpos[0], trajectory.qpos[-1]):
        simulation.data.qpos[:] = qpos
        simulation.refresh()
        with standing(simulation, overview):
            seen = renderer.alone(ROBOT, overview.name, size, size, margin=margin)
        assert seen.sum() == seen[margin:-margin, margin:-margin].sum() > 0
    with standing(simulation, overview):
        whole = simulation.camera(overview.name)
    front = next(camera for camera in simulation.scene.cameras if camera.name == "front")
    half = np.tan(np.radians([front.fovy_deg, whole.fovy_deg]) / 2)
    axes = Pose((0, 0, 0), camera_quaternion(front)).matrix
    for corner in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
        ray = whole.in_world.matrix.T @ axes @ [corner[0] * half[0], corner[1] * half[0], -1.0]
        assert np.abs(ray[:2] / -ray[2]).max() <= half[1]
    assert whole.fovy_deg < 30
    renderer.close()


def test_a_policy_without_cameras_is_shown_from_the_front_with_its_hand() -> None:
    row, trajectory, policy = played(steps=3)
    policy.spec = replace(policy.spec, cameras=())
    film = film_of(row, trajectory, policy)
    assert film[0][:, -300:].std() > 20 and len(film) == 4 + 15


EPISODE: dict[str, Any] = {
    "instructions": [{"step": 0, "text": "Pick up the red cube."}, {"step": 20, "text": "Put it down."}],
    "stage_steps": [10],
    "steps": 40,
    "success": False,
    "outcome": "timeout",
    "failure_kind": "motor",
    "failure_type": "grasp stability",
    "failure_evidence": {"step": 30, "says": "the robot dropped the red cube"},
    "events": [
        {"step": 5, "kind": "event", "object": "red cube moves by (0.1, 0, 0) m", "other": "", "value": 0.0},
        {"step": 10, "kind": "stage", "object": "red cube grasped", "other": "", "value": 1.0},
        {"step": 20, "kind": "event", "object": 'the instruction becomes "Put it down."', "other": "", "value": 0.0},
        {"step": 35, "kind": "drop", "object": "red cube", "other": "", "value": 0.0},
    ],
}


def test_captions_tell_instruction_stage_events_and_the_failure_when_it_happens() -> None:
    captions = Captions(EPISODE, ["red cube grasped", "red cube lifted"], 10.0)
    told = [captions.at(step) for step in range(41)]
    assert {one.instruction for one in told[:20]} == {"Pick up the red cube."}
    assert {one.instruction for one in told[20:]} == {"Put it down."}
    assert [step for step, one in enumerate(told) if one.is_new_instruction] == list(range(20, 35))
    # What is to come does not read as if it were done.
    assert told[9].stage == "next: red cube grasped (1 of 2)" and told[10].stage == "next: red cube lifted (2 of 2)"
    assert told[40].stage == "1 of 2 done, and time is up" and told[40].time == "4.0 s"
    assert [step for step, one in enumerate(told) if one.note.startswith("red cube moves")] == list(range(5, 20))
    assert {(one.mark, one.mood) for one in told[:30]} == {("", "plain")}
    marked = {(one.mark, one.mood, one.note) for one in told[30:]}
    assert marked == {(f"{CROSS} motor: grasp stability", "failed", "the robot dropped the red cube")}


def test_before_the_instruction_changes_a_film_names_no_stage_of_the_next_one() -> None:
    environment = Environment(Trial("adaptability/pick_other_cube", 2, "waver", 0), PolicySpec())
    first, second = asked(environment)
    assert [str(stage) for stage in environment.score.stages] == second
    assert [text.split()[2] for text in first] == ["grasped", "grasped"] and not set(first) & set(second)
    row = {**EPISODE, "stage_steps": []}
    captions = Captions(row, second, 10.0, [first, second])
    assert captions.at(19).stage == f"goal: {first[-1]} (not scored yet)"
    assert captions.at(20).stage == f"next: {second[0]} (1 of 2)"
    # An episode that ends before that, and stages that belong to both or to neither.
    ended = Captions({**row, "instructions": row["instructions"][:1]}, second, 10.0, [first, second])
    assert ended.at(30).stage.startswith("goal: ")
    for stages in (first, ["upright", "away"]):
        assert Captions(row, stages, 10.0, [first, second]).at(0).stage == f"next: {stages[0]} (1 of 2)"
    assert Captions(row, second, 10.0, [[], second]).at(0).stage == "nothing is scored yet"


def test_captions_of_a_success_and_of_a_failure_without_evidence() -> None:
    solved = Captions({**EPISODE, "success": True, "outcome": "success", "stage_steps": [10, 40]}, ["a", "b"], 10.0)
    assert solved.at(39).mood == "plain" and solved.at(40).mark == f"{TICK} solved in 4.0 s"
    assert solved.at(40).stage == "2 of 2 done" and solved.at(40).mood == "solved"
    bare = {"failure_evidence": None, "failure_kind": None, "failure_type": None, "events": None, "instructions": None}
    lost = Captions({**EPISODE, **bare}, ["a", "b"], 10.0)
    broken = Captions({**EPISODE, "outcome": "failure"}, ["a", "b"], 10.0)
    assert broken.at(39).stage == "next: b (2 of 2)" and broken.at(40).stage == "1 of 2 done"
    assert lost.at(39).mood == "plain" and lost.at(40).mark == f"{CROSS} timeout" and lost.at(0).instruction == ""


def colours(image: NDArray[np.uint8]) -> set[tuple[int, ...]]:
    packed = np.unique(image.reshape(-1, 3).astype(np.int64) @ [1, 1 << 8, 1 << 16])
    return {(int(one) & 255, int(one) >> 8 & 255, int(one) >> 16) for one in packed}


def test_words_stand_above_and_below_the_pictures_and_never_on_them() -> None:
    captions = Captions(EPISODE, ["red cube grasped", "red cube lifted"], 10.0)
    layout = Layout.of(CAMERAS, captions)
    pictures = [layout.overview, *layout.seen.values()]
    sea = (1, 2, 3)
    film = layout.canvas()
    for box in pictures:
        box.put(film, np.full((box.height, box.width, 3), sea, dtype=np.uint8))
    frame = (slice(layout.overview.top - LINE, layout.overview.top), slice(0, layout.overview.width))
    below = slice(layout.overview.top + layout.overview.height + LINE, None)
    for step, paper, top in ((0, PAPER, PAPER), (21, PAPER, AMBER), (30, RED, AMBER), (40, RED, PAPER)):
        layout.write(film, captions.at(step))
        for box in pictures:
            assert colours(cut(film, box)) == {sea}
        assert colours(film[frame]) == {paper}
        assert tuple(film[0, 0]) == top and (film[: layout.overview.top - LINE] != top).any()
        assert (paper in colours(film[below])) and (RED in colours(film[below])) == (paper == RED)
    solved = Captions({**EPISODE, "success": True}, ["a"], 10.0)
    layout.write(film, solved.at(40))
    assert colours(film[frame]) == {GREEN} and RED not in colours(film)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_films_of_the_same_cameras_are_of_one_height_with_letters_as_wide_as_their_share(count: int) -> None:
    cameras = [CameraRequest(f"camera {n}", 128, 128) for n in range(count)]
    texts = ("Pick up the cube.", "Pick up the cube that is to the left of the green box. " * 2)
    said = [{**EPISODE, "instructions": [{"step": 0, "text": text}], "failure_evidence": {"step": 3, "says": text}}
            for text in texts]  # fmt: skip
    layouts = [Layout.of(cameras, Captions(row, [text] * 2, 10.0)) for row, text in zip(said, texts, strict=True)]
    assert len({(one.height, one.width) for one in layouts}) == 1
    words = layouts[0].words
    assert words is not None and 30 <= layouts[0].width / (6 * words.large) <= 42


@pytest.mark.parametrize("count", [0, 1, 2, 3, 5])
def test_films_have_even_sides_and_nothing_overlaps_whatever_is_asked_and_shown(count: int) -> None:
    cameras = [CameraRequest(f"camera {n}", 480 if n % 2 else 33, 640 if n % 2 else 20) for n in range(count)]
    says = {"step": 3, "says": "what happened " * 90}
    row = {**EPISODE, "instructions": [{"step": 0, "text": "word " * 300}], "failure_evidence": says}
    captions = Captions(row, ["stage " * 90], 20.0)
    for layout in (Layout.of(cameras), Layout.of(cameras, captions, "drawn with another OpenGL. " * 9)):
        film = layout.canvas()
        assert film.shape[0] % 2 == film.shape[1] % 2 == 0 and film.shape[0] < 1200
        taken = np.zeros(film.shape[:2], dtype=int)
        for box in (layout.overview, *layout.seen.values()):
            box.put(film, np.zeros((box.height, box.width, 3), dtype=np.uint8))
            taken[box.top : box.top + box.height, box.left : box.left + box.width] += 1
        assert taken.max() == 1
        layout.note(film)
        layout.write(film, captions.at(10))
        for box in layout.seen.values():
            if layout.words is not None:
                layout.label(film, box, "a name that is far too long for it")


def test_pictures_are_enlarged_into_squares_and_reduced_to_means() -> None:
    image = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)
    np.testing.assert_array_equal(fitted(image, 8, 12), image.repeat(4, axis=0).repeat(4, axis=1))
    np.testing.assert_array_equal(fitted(fitted(image, 8, 12), 2, 3), image)
    np.testing.assert_array_equal(fitted(image, 2, 3), image)
    assert fitted(np.full((7, 5, 3), 255, dtype=np.uint8), 192, 133).min() == 255


def test_pictures_of_a_pair_say_which_of_the_two_they_are() -> None:
    assert label("front", None) == "front" and label("", None) == "" and label("", ()) == "before"
    assert label("wrist", (TURNED, ("noise", 25.0))) == "wrist, after: camera turned=yaw 6, pitch 0, noise=25"


def test_letters_that_there_are_not_are_spelled_and_long_texts_are_cut() -> None:
    assert wrapped("Café “au lait” – 2×", 400, 2) == ['Cafe "au lait" - 2x']
    assert wrapped("one two three four", 60, 2, 2) == ["one", "t..."]
    ink = written(["I"], 20, 2, ink=(1, 2, 3), paper=(9, 9, 9))
    assert colours(ink) == {(1, 2, 3), (9, 9, 9)}


# What is said of pictures that are not the same.


def test_a_film_says_that_it_was_drawn_by_another_renderer() -> None:
    row, trajectory, policy = played(steps=3)
    said = about(policy.spec)
    assert deviations(said) == ""
    said["versions"]["gl_renderer"] = "another"
    assert "another OpenGL" in deviations(said) and "MuJoCo" not in deviations(said)
    same, other = film_of(row, trajectory, policy)[0], next(film_frames(row, trajectory, said))
    assert other.shape[0] > same.shape[0] and other.shape[1] == same.shape[1]


@pytest.mark.parametrize("cameras", ["front", [{"name": "front", "height": 0}], [{"nam": "front"}], [3]])
def test_a_run_whose_policy_cannot_be_is_refused(cameras: Any) -> None:
    with pytest.raises(UserError, match="says of the policy what cannot be"):
        recorded_spec({"policy_spec": {"hz": 20.0, "cameras": cameras}})


# The files.


def test_a_captioned_film_says_so_in_its_file_and_a_plain_one_is_put_beside_it(tmp_path: Path) -> None:
    row = {"task": "a/b", "seed": 1, "outcome": "failure", "trial_id": "abcdefgh"}
    film = tmp_path / film_name(row)
    assert plain_film(tmp_path, row) == film and not is_captioned(film)
    pictures = [np.zeros((16, 16, 3), dtype=np.uint8)] * 3
    write_mp4(film, pictures, 10.0)
    assert not is_captioned(film) and plain_film(tmp_path, row) == film
    write_mp4(film, pictures, 10.0, comment=CAPTIONED)
    assert is_captioned(film) and plain_film(tmp_path, row).name == film.stem + ".plain.mp4"
    with av.open(str(film)) as file:
        assert len(list(file.decode(video=0))) == 3

"""Driving by a person: what velocities come to, who may send them, and that what is solved becomes a data set."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robodx.datasets.formats.base import open_data
from robodx.datasets.mixtures import open_mixture
from robodx.datasets.stills import from_bytes, to_jpeg
from robodx.errors import UserError
from robodx.robots.control import Controller
from robodx.robots.kinematics import Kinematics
from robodx.robots.panda import PANDA
from robodx.running.generating import UNFINISHED, Generation, record, write
from robodx.sim.build import PHYSICS_STEP_S
from robodx.sim.geometry import Pose, about, difference, multiply
from robodx.sim.simulation import Simulation
from robodx.sim.world import World
from robodx.streams import FIRST_TRAINING_SEED
from robodx.teleoperation.console import SEAT_S, WATCHDOG_S, Console, Decision, Place, Refused
from robodx.teleoperation.driving import Way
from robodx.teleoperation.serving import served, teleoperate
from robodx.teleoperation.session import Notes, Session, Stopped, Teleoperation
from robodx.teleoperation.steering import (
    DOWN,
    FASTEST_M_S,
    FASTEST_RAD_S,
    HIGHEST,
    LEASH_M,
    LEASH_RAD,
    LOWEST,
    MOST_YAW_RAD,
    Target,
    Velocity,
    advanced,
    yaw_of,
)
from tests.commands import call
from tests.teleoperating import Driving, Operator

TASK = "primitive/pick_cube"
PERIOD_S = 0.05
HOME = Pose((0.5, 0.0, 0.3), DOWN)


# What velocities come to


def driven(velocity: Velocity, seconds: float, start: Pose = HOME, *, stuck_at: Pose | None = None) -> Target:
    """A hand that is always where it was told to be, or one that never moves."""
    target = Target.at(start)
    for _ in range(round(seconds / PERIOD_S)):
        target = advanced(target, velocity, stuck_at or target.pose, PERIOD_S)
    return target


@pytest.mark.parametrize(
    ("velocity", "axis"), [(Velocity(x=1), 0), (Velocity(y=1), 1), (Velocity(z=1), 2), (Velocity(x=-0.5), 0)]
)
def test_a_velocity_moves_the_target_along_its_axis_alone(velocity: Velocity, axis: int) -> None:
    way = np.subtract(driven(velocity, 0.6).pose.position, HOME.position)
    asked = (velocity.x, velocity.y, velocity.z)[axis] * FASTEST_M_S * 0.6
    # Less than all of it, because it speeds up at first.
    assert 0.7 * abs(asked) < abs(way[axis]) < abs(asked) and np.sign(way[axis]) == np.sign(asked)
    assert np.abs(np.delete(way, axis)).max() < 1e-9


def test_yaw_turns_the_hand_about_the_vertical_and_keeps_it_pointing_down() -> None:
    target = driven(Velocity(yaw=1), 0.6)
    assert target.yaw_rad == pytest.approx(0.6 * FASTEST_RAD_S) == yaw_of(target.pose)
    assert target.pose.axis("z") == pytest.approx((0, 0, -1)) and target.pose.position == pytest.approx(HOME.position)


@pytest.mark.parametrize("sign", [-1, 1])
def test_the_hand_turns_to_every_grasp_and_no_further(sign: int) -> None:
    turned = abs(driven(Velocity(yaw=sign), 3).yaw_rad)
    assert math.pi / 2 < turned <= MOST_YAW_RAD


def test_it_speeds_up_evenly_and_stops_at_once() -> None:
    target, speeds = Target.at(HOME), []
    for velocity in [*[Velocity(x=1)] * 6, Velocity(), Velocity()]:
        before = target.pose.position[0]
        target = advanced(target, velocity, target.pose, PERIOD_S)
        speeds.append((target.pose.position[0] - before) / PERIOD_S)
    assert speeds[:4] == pytest.approx([0.125, 0.25, 0.375, 0.5]) and speeds[5:] == pytest.approx([0.5, 0.0, 0.0])


@pytest.mark.parametrize("sign", [-1, 1])
def test_the_target_stays_in_the_workspace(sign: int) -> None:
    target = driven(Velocity(x=sign, y=sign, z=sign), 10)
    assert math.hypot(*target.velocity_m_s) == pytest.approx(FASTEST_M_S)
    assert target.pose.position == pytest.approx(HIGHEST if sign > 0 else LOWEST)


def test_a_hand_that_starts_outside_does_not_jump_and_comes_in() -> None:
    outside = Pose((HIGHEST[0] + 0.05, 0.0, 0.3), DOWN)
    assert driven(Velocity(x=1), 1, outside).pose.position == pytest.approx(outside.position)
    assert driven(Velocity(x=-1), 1, outside).pose.position[0] < HIGHEST[0]


def test_a_hand_that_is_stopped_by_something_is_not_told_to_go_far() -> None:
    target = driven(Velocity(z=-1, yaw=1), 3, stuck_at=HOME)
    assert math.dist(target.pose.position, HOME.position) == pytest.approx(LEASH_M)
    assert LEASH_RAD - 0.1 < target.yaw_rad <= LEASH_RAD
    # And is free again at once.
    assert advanced(target, Velocity(z=1), HOME, PERIOD_S).pose.position[2] > target.pose.position[2]


def test_a_tilted_hand_comes_to_point_down_while_it_moves_and_only_then() -> None:
    tilted = Pose(HOME.position, multiply(about("y", 0.2), DOWN))
    assert driven(Velocity(), 1, tilted).pose == tilted
    step = advanced(Target.at(tilted), Velocity(x=0.1), tilted, PERIOD_S)
    assert 0 < difference(tilted, step.pose).angle_rad <= FASTEST_RAD_S * PERIOD_S + 1e-6
    assert driven(Velocity(x=0.1), 1, tilted).pose.axis("z") == pytest.approx((0, 0, -1))


@pytest.mark.parametrize("wrong", [1.01, -2.0, math.nan, math.inf])
def test_what_is_no_share_of_the_fastest_is_no_velocity(wrong: float) -> None:
    with pytest.raises(UserError, match="the velocity y is"):
        Velocity(y=wrong)


def test_an_arm_at_the_end_of_its_reach_stands_and_does_not_swing_about() -> None:
    kinematics = Kinematics("panda")
    joints = np.array(kinematics.arm.home)
    way = Way(kinematics, Target.at(kinematics.tool_in_base(joints)), joints)
    start, steps = way.target.pose.position, []
    for _ in range(60):
        before = way.joints
        way.advance(Velocity(x=1), way.target.pose, way.joints, PERIOD_S)
        steps.append(np.abs(way.joints - before).max())
    # At this height it ends before the workspace does.
    assert way.is_at_limit and start[0] + 0.3 < way.target.pose.position[0] < HIGHEST[0] - 0.02
    assert way.target.pose.position[1:] == pytest.approx(start[1:]) and max(steps) < 0.15
    assert math.dist(kinematics.tool_in_base(way.joints).position, way.target.pose.position) < 0.001
    end = way.target.pose.position[0]
    for _ in range(10):
        way.advance(Velocity(x=-1), way.target.pose, way.joints, PERIOD_S)
        assert not way.is_at_limit
    assert way.target.pose.position[0] < end - 0.04


@pytest.mark.parametrize("seed", [5, 11])
def test_whatever_is_pressed_the_arm_follows_and_comes_back(seed: int, simulate: Callable[..., Simulation]) -> None:
    simulation, rng = simulate(), np.random.default_rng(seed)
    world, controller, command = World(simulation), Controller(PANDA, "ee_pose"), simulation.command
    in_base = PANDA.base_in_world.inverse()
    way = Way(Kinematics("panda"), Target.at(in_base @ world.tool()), simulation.joint_positions().copy())
    over_the_table, is_back = (0.45, 0.0, 0.3), False
    for step in range(700):
        tool = in_base @ world.tool()
        if step >= 600:
            asked = np.clip(10 * np.subtract(over_the_table, tool.position), -1, 1)
            velocity = Velocity(*map(float, asked))
        elif step % 20 == 0:
            velocity = Velocity(*map(float, rng.choice([-1, 0, 1], 4)))
        told = way.advance(velocity, tool, simulation.joint_positions().copy(), PERIOD_S)
        action = np.array([*told.position, *told.quaternion, 1.0], dtype=np.float32)
        command = controller.resolve(action, command, PERIOD_S).command
        simulation.step(command, round(PERIOD_S / PHYSICS_STEP_S))
        # Below, the fingers meet the table.
        if told.position[2] > 0.03:
            assert math.dist((in_base @ world.tool()).position, told.position) < 0.01
        is_back = math.dist(tool.position, over_the_table) < 0.02
    assert is_back


# The console


@dataclass
class Clock:
    now_s: float = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def console(clock: Clock) -> Console:
    """An attempt, the first, waits to be driven."""
    made = Console(clock)
    made.begin(Place(TASK, FIRST_TRAINING_SEED, 1, 2))
    made.ready()
    return made


FORTH = Velocity(x=1.0)


def test_the_robot_holds_still_when_nothing_comes_for_half_a_second(console: Console, clock: Clock) -> None:
    seat = console.sit()
    console.drive(seat, 1, FORTH, 0.0)
    clock.now_s += WATCHDOG_S
    assert console.command() == (FORTH, 0.0)
    clock.now_s += 0.01
    # What it holds it goes on holding.
    assert console.command() == (Velocity(), 0.0)


def test_an_attempt_waits_for_the_first_input(console: Console) -> None:
    seat = console.sit()
    for velocity, opening, phase in ((Velocity(), 1.0, "waiting"), (Velocity(), 0.0, "driving")):
        console.drive(seat, 1, velocity, opening)
        assert console.state()["phase"] == phase
    assert console.await_input() is None


def test_what_was_sent_for_an_earlier_attempt_does_nothing(console: Console) -> None:
    seat = console.sit()
    console.drive(seat, 1, FORTH, 0.0)
    console.begin(Place(TASK, FIRST_TRAINING_SEED, 1, 2))
    console.ready()
    console.drive(seat, 1, FORTH, 0.0)
    assert console.command() == (Velocity(), 1.0) and console.state()["phase"] == "waiting"
    with pytest.raises(Refused, match="over"):
        console.decide(seat, 1, "skip")


def test_one_operator_at_a_time_and_a_seat_that_is_not_used_is_free(console: Console, clock: Clock) -> None:
    first = console.sit()
    with pytest.raises(Refused, match="Somebody else is driving"):
        console.sit()
    with pytest.raises(Refused):
        console.drive("guessed", 1, FORTH, 1.0)
    clock.now_s += SEAT_S
    console.drive(first, 1, FORTH, 1.0)
    clock.now_s += SEAT_S + 0.1
    assert not console.state()["is_driven"]
    second = console.sit()
    with pytest.raises(Refused, match="Somebody else"):
        console.drive(first, 1, FORTH, 1.0)
    console.leave("guessed")
    console.drive(second, 1, FORTH, 1.0)
    console.leave(second)
    assert console.command().velocity.is_still
    assert console.sit() not in (first, second)


def test_only_what_is_solved_is_saved(console: Console) -> None:
    seat = console.sit()
    decisions: tuple[Decision, ...] = ("save", "retry")
    for decision in decisions:  # before anything was moved there is nothing to throw away
        with pytest.raises(Refused, match="Not now"):
            console.decide(seat, 1, decision)
    console.drive(seat, 1, FORTH, 1.0)
    console.finish(is_solved=False, says="")
    with pytest.raises(Refused, match="only what is solved"):
        console.decide(seat, 1, "save")
    console.finish(is_solved=True, says="")
    console.decide(seat, 1, "save")
    assert console.await_decision() == "save"


# Who may look and drive


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    made = Console()
    made.begin(Place(TASK, FIRST_TRAINING_SEED, 1, 1))
    made.ready()
    made.draw({"front": np.zeros((16, 16, 3), np.uint8)})
    with served(made, port=0) as found:
        yield found


@pytest.fixture
def operator(address: str) -> Iterator[Operator]:
    made = Operator(address)
    made.sit()
    yield made
    made.ask("/api/leave", "POST", {"seat": made.seat})


@pytest.mark.parametrize("path", ["/", "/static/teleop.js", "/api/state", "/picture/front", "/?token=wrong"])
def test_without_the_token_nothing_is_seen(operator: Operator, path: str) -> None:
    answer = operator.ask(path, Cookie=None)
    assert answer.status == 403 and b"robodx teleop printed" in answer.body


def test_with_it_the_page_its_parts_and_the_pictures_are(operator: Operator) -> None:
    for path, says in (("/", b"teleop.js"), ("/static/style.css", b"--paper"), ("/static/teleop.js", b"/api/drive")):
        assert says in operator.ask(path).body
    picture = operator.ask("/picture/front")
    assert picture.headers["content-type"] == "image/jpeg" and from_bytes(picture.body).shape == (16, 16, 3)
    assert operator.ask("/picture/nowhere").status == operator.ask("/static/..%2fapp.py").status == 404


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200), ({"Cookie": None}, 403), ({"Origin": None}, 403), ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403), ({"Origin": "http://["}, 403), ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"X_RoboDx_Write_Token": "guess"}, 403), ({"X_RoboDx_Write_Token": None}, 403),
        ({"Content_Type": "text/plain"}, 415),
    ],
)  # fmt: skip
def test_only_a_page_of_its_own_drives(operator: Operator, headers: dict[str, Any], status: int) -> None:
    body = {"seat": operator.seat, "attempt": 1, "velocity": [0, 0, 0, 0], "opening": 1}
    assert operator.ask("/api/drive", "POST", body, **headers).status == status


@pytest.mark.parametrize("path", ["/", "/api/state", "/api/drive/x"])
def test_nothing_else_is_written_to(operator: Operator, path: str) -> None:
    assert operator.ask(path, "POST", {}).status == 405
    assert operator.ask("/api/drive", "PUT", {}).status == 405


@pytest.mark.parametrize(
    "wrong",
    [
        {"velocity": [0, 0, 0]}, {"velocity": "up"}, {"velocity": [0, 0, 0, 2]}, {"velocity": [math.nan, 0, 0, 0]},
        {"velocity": [0, 0, 0, True]}, {"velocity": [10**400, 0, 0, 0]}, {"opening": 2}, {"opening": None},
        {"attempt": "1"}, {"seat": 5},
    ],
)  # fmt: skip
def test_what_is_no_command_is_refused(operator: Operator, wrong: dict[str, Any]) -> None:
    body = {"seat": operator.seat, "attempt": 1, "velocity": [0, 0, 0, 0], "opening": 1, **wrong}
    assert operator.ask("/api/drive", "POST", body).status == 400


def test_a_second_operator_is_told_so_and_may_watch(operator: Operator, address: str) -> None:
    second = Operator(address)
    answer = second.ask("/api/sit", "POST", {})
    assert answer.status == 409 and b"Somebody else is driving" in answer.body
    assert second.state()["is_driven"] and second.decide("skip") == 409
    operator.ask("/api/leave", "POST", {"seat": operator.seat})
    second.sit()
    second.ask("/api/leave", "POST", {"seat": second.seat})


# Recording

ASKED = Teleoperation(Generation((TASK,), 2, cameras="front@32,wrist@16", hz=10), "ann", pace=2.0)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first situation is solved at the second attempt; then it is stopped; the second is left out."""
    out = tmp_path_factory.mktemp("made") / "driven.lerobot"
    first = Session.open(ASKED, out, "lerobot", Console())
    driving = Driving(_solves_and_stops)
    with pytest.raises(Stopped):
        teleoperate(first, driving, port=0)
    driving.done()
    assert not out.exists()
    again = Session.open(ASKED, out, "lerobot", Console())
    assert [trial.seed for trial in again.missing] == [FIRST_TRAINING_SEED + 1]
    driving = Driving(_skips)
    found = teleoperate(again, driving, port=0)
    driving.done()
    assert (found.episodes, found.failed) == (1, {TASK: 1})
    return out


def _solves_and_stops(operator: Operator) -> None:
    start = operator.await_phase("waiting")
    time.sleep(0.3)
    # Nothing passes before the first input.
    assert operator.drive(1)["time_s"] == start["time_s"]
    for _ in range(10):
        moving = operator.drive(1, 1.0, 0.0, 0.0, 0.0)
        time.sleep(0.05)
    assert moving["tool"][0] > start["tool"][0] + 0.05 and moving["time_s"] > 0.3
    # It is not heard of any more.
    time.sleep(WATCHDOG_S + 0.2)
    held = operator.state()
    time.sleep(0.3)
    later = operator.state()
    assert later["time_s"] > held["time_s"] and math.dist(later["tool"], held["tool"]) < 0.001
    assert operator.decide("retry") == 200
    assert operator.await_phase("waiting", after=1)["place"]["discarded"] == 1
    solved = operator.pick_cube()
    assert solved["phase"] == "solved" and solved["reached"] == len(solved["stages"]) == 2
    assert operator.decide("save") == 200
    second = operator.await_phase("waiting", after=solved["attempt"])
    assert (second["place"]["number"], second["place"]["saved"]) == (2, 1)
    operator.decide("stop")


def _skips(operator: Operator) -> None:
    operator.await_phase("waiting")
    assert operator.decide("skip") == 200


def _skips_and_stops(operator: Operator) -> None:
    _skips(operator)
    operator.await_phase("waiting", after=1)
    operator.decide("stop")


def test_what_was_driven_is_a_data_set_as_that_of_the_expert(made: Path, tmp_path: Path) -> None:
    data = open_data(str(made))
    (episode,) = (data[place] for place in range(len(data)))
    assert episode.is_solved and episode.metadata["seed"] == FIRST_TRAINING_SEED
    told = {name: episode.metadata[name] for name in ("teleoperated", "operator", "discarded_attempts")}
    assert told == {"teleoperated": True, "operator": "ann", "discarded_attempts": 1}
    # The actions are where the hand was told to be: it goes there, and was closed on the cube.
    state, action = episode.state["state"], episode.action
    assert np.abs(state[1:, :3] - action[:-1, :3]).max() < 0.03
    assert set(action[:, 7]) == {0.0, 1.0} and action[-1, 7] == 0.0
    assert ((state[:, 3:7] * action[:, 3:7]).sum(axis=1) > 0).all()
    expert = tmp_path / "expert.lerobot"
    write(record(replace(ASKED.generation, episodes=1), expert, "lerobot"))
    mixture = open_mixture(f"{expert},{made}*2")
    assert len(mixture) == len(open_data(str(expert))[0]) + 2 * len(episode)
    assert data.features.state == open_data(str(expert)).features.state


def test_its_card_and_data_show_say_who_drove(made: Path) -> None:
    card = (made / "README.md").read_text()
    for text in ("teleoperated by ann", "| made by | robodx teleop |", "discarded attempts | 1 |", f"| {TASK} | 1 |"):
        assert text in card, text
    assert not (made.parent / f"{made.name}{UNFINISHED}").exists()
    shown = json.loads(call("data", "show", made, "--json", cwd=made.parent))
    assert (shown["episodes"], shown["hz"]) == (1, 10.0) and TASK in json.dumps(shown)


def test_the_same_command_goes_on_and_fewer_episodes_write_what_is_there(tmp_path: Path) -> None:
    out = tmp_path / "driven.lerobot"
    first = Session.open(ASKED, out, "lerobot", Console())
    saved, _ = ASKED.trials()
    driving = Driving(_skips_and_stops)
    with pytest.raises(Stopped):
        teleoperate(first, driving, port=0)
    driving.done()
    for other, says in (
        (replace(ASKED, operator="bob"), "operator was 'ann', now 'bob'"),
        (replace(ASKED, generation=replace(ASKED.generation, hz=20)), "hz was 10, now 20"),
    ):
        with pytest.raises(UserError, match=says):
            Session.open(other, out, "lerobot", Console())
    with pytest.raises(UserError, match="another command"):
        record(ASKED.generation, out, "lerobot")
    fewer = replace(ASKED, generation=replace(ASKED.generation, episodes=1))
    session = Session.open(fewer, out, "lerobot", Console())
    assert session.missing == [] and session.notes.of(saved).outcome == "left out"
    # Nobody is asked to drive; but nothing was saved.
    with pytest.raises(UserError, match="none of 1 situations was saved"):
        teleoperate(session, lambda address: pytest.fail("a page was opened"))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["robustness/stack_unseen_cube"], "for evaluation only"),
        (["primitive"], "3 tasks: one is driven at a time"),
        ([TASK, "--first-seed", "5"], "training seeds, from 1000000 on"),
        ([TASK, "--operator", "a|b"], "the operator's name"),
        ([TASK, "--cameras", "nowhere@32"], "asks for the camera nowhere"),
        ([TASK, "--cameras", "front@7778"], "each side must be 1 to 2048 pixels"),
        ([TASK, "--format", "maniskill"], "only read"),
    ],
)
def test_what_cannot_be_driven_is_refused_before_anybody_takes_a_seat(
    words: list[str], says: str, tmp_path: Path
) -> None:
    assert says in call("teleop", *words, "--no-browser", "--out", "x.lerobot", cwd=tmp_path, expect=2)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "content", ["", '{"a": {"outcome": "sav', "[]", '{"a": {"odd": 1}}', '{"a": {"discarded": "x"}}', '{"a": null}']
)
def test_damaged_notes_are_told(content: str, tmp_path: Path) -> None:
    path = tmp_path / "teleoperation.json"
    path.write_text(content)
    with pytest.raises(UserError, match=r"teleoperation\.json is damaged.*remove .* and begin anew"):
        Notes.read(path)


def test_a_jpeg_shows_nearly_the_same() -> None:
    across = np.linspace(0, 255, 32, dtype=np.uint8)
    image = np.stack([np.tile(across, (32, 1)), np.tile(across, (32, 1)).T, np.full((32, 32), 90, np.uint8)], axis=2)
    assert np.abs(from_bytes(to_jpeg(image)).astype(float) - image).mean() < 5

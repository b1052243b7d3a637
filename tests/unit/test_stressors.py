"""Single stressors do what they say: by hand-made pictures and commands, and through an environment."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from robodx.perturbations.base import PERTURBATIONS, Draws, Perturbation, SensorStress
from robodx.perturbations.intermittent import GAP_S, Intermittent
from robodx.perturbations.motion_blur import line
from robodx.perturbations.noise import alias_table, distribution
from robodx.perturbations.resolution import pooling, stretching
from robodx.policy_contract import CameraRequest, Observation, PolicySpec
from robodx.records.trajectory import Trajectory
from robodx.records.trial import Trial
from robodx.robots.kinematics import Kinematics
from robodx.running.environment import Environment
from robodx.sim.simulation import Command
from robodx.spaces import ActionSpace
from robodx.streams import Streams

TASK = "control/stack_cube"
GREY = np.full((16, 24, 3), 128, dtype=np.uint8)


def start(name: str, severity: float, seed: int = 0, *, hz: float = 20.0) -> Perturbation:
    return PERTURBATIONS[name].start(severity, Draws(Streams(seed), name), 1.0 / hz)


def sensor(name: str, severity: float, seed: int = 0, *, hz: float = 20.0) -> SensorStress:
    running = start(name, severity, seed, hz=hz)
    assert isinstance(running, SensorStress)
    return running


def environment(*applied: tuple[str, float], seed: int = 0, spec: PolicySpec | None = None) -> Environment:
    return Environment(Trial(TASK, 2, "still", seed, perturbations=applied), spec or PolicySpec())


def command(value: float, opening: float = 1.0) -> Command:
    return Command(np.full(7, value, dtype=np.float32), np.array([opening], dtype=np.float32))


# Pictures.


@pytest.mark.parametrize("severity", [0.4, 10.0, 75.0])
def test_noise_is_distributed_as_defined(severity: float) -> None:
    rng, draws = np.random.default_rng(0), 400_000
    table = distribution(severity)
    for value in (0, 7, 128, 255):
        mean = severity * value / 255
        direct = value + rng.poisson(mean, draws) - mean + rng.normal(0.0, severity, draws)
        counts = np.bincount(np.clip(np.rint(direct), 0, 255).astype(int), minlength=256)
        # Five standard deviations of each count.
        assert (np.abs(counts - draws * table[value]) <= 5 * np.sqrt(draws * table[value]) + 5).all()


@pytest.mark.parametrize("severity", [0.4, 10.0, 75.0])
def test_what_noise_draws_from_is_that_distribution(severity: float) -> None:
    table = alias_table(severity).reshape(256, 256)
    kept, other = (table >> 8) / 2**24, table & 255
    drawn = kept.copy()
    for value in range(256):
        np.add.at(drawn[value], other[value], 1 - kept[value])
    assert np.allclose(drawn / 256, distribution(severity), atol=1e-7)


def test_noise_has_the_mean_and_spread_of_its_definition() -> None:
    image = np.full((128, 128, 3), 128, dtype=np.uint8)
    noisy = sensor("noise", 10.0).image(image, "front", 0).astype(float)
    assert noisy.mean() == pytest.approx(128, abs=0.25)
    # Shot noise, read noise, and rounding.
    assert noisy.std() == pytest.approx(math.sqrt(10 * 128 / 255 + 100 + 1 / 12), rel=0.02)
    assert abs(np.corrcoef(noisy[..., 0].ravel(), noisy[..., 1].ravel())[0, 1]) < 0.03
    for camera, step in (("front", 1), ("wrist", 0)):
        other = sensor("noise", 10.0).image(image, camera, step)
        assert abs(np.corrcoef(noisy.ravel(), other.ravel())[0, 1]) < 0.03


def test_colour_shift_moves_one_channel_one_way_for_a_whole_trial() -> None:
    seen = set()
    for seed in range(40):
        running = sensor("colour_shift", 30.0, seed)
        shifted = running.image(GREY, "front", 0).astype(int) - 128
        assert np.array_equal(shifted, running.image(GREY, "wrist", 17).astype(int) - 128)
        assert (shifted == shifted[0, 0]).all()
        seen.add(tuple(shifted[0, 0].tolist()))
    assert seen == {tuple(30 * sign * np.eye(3, dtype=int)[channel]) for sign in (-1, 1) for channel in range(3)}
    bright = np.full((2, 2, 3), 250, dtype=np.uint8)
    assert {int(sensor("colour_shift", 120.0, seed).image(bright, "front", 0).max()) for seed in range(9)} == {250, 255}


@pytest.mark.parametrize(("size", "few"), [(128, 64), (128, 35), (7, 3), (5, 5), (1, 1), (9, 1)])
def test_resolution_pools_areas_and_keeps_what_is_flat(size: int, few: int) -> None:
    down, up = pooling(size, few).toarray(), stretching(few, size).toarray()
    assert np.allclose(down.sum(axis=1), 1, atol=1e-6) and np.allclose(up.sum(axis=1), 1, atol=1e-6)
    # Every pixel counts the same.
    assert np.allclose(down.sum(axis=0), few / size, atol=1e-6)


def test_half_the_resolution_is_the_mean_of_each_four() -> None:
    image = np.random.default_rng(0).integers(0, 256, (8, 12, 3), dtype=np.uint8)
    blocks = image.reshape(4, 2, 6, 2, 3).mean(axis=(1, 3))
    # A quarter of the way from a cell's middle to the next cell's, each way.
    near, next_ = blocks[1, 2], (blocks[0, 2], blocks[1, 1], blocks[0, 1])
    expected = 0.5625 * near + 0.1875 * (next_[0] + next_[1]) + 0.0625 * next_[2]
    assert np.abs(sensor("resolution", 2.0).image(image, "front", 0)[2, 4] - expected).max() <= 0.51


def test_a_resolution_that_loses_no_pixel_passes_the_picture_on() -> None:
    for severity in (0.3, 1.0, 1.01):
        assert sensor("resolution", severity).image(GREY, "front", 0) is GREY


def test_a_dropped_frame_is_gone_with_all_its_parts() -> None:
    running = sensor("frame_drop", 0.3)
    depth, ids = np.ones((16, 24), dtype=np.float32), np.ones((16, 24), dtype=np.int32)
    dropped = []
    for step in range(400):
        image = running.image(GREY, "front", step)
        parts = (image, running.depth(depth, "front", step), running.segmentation(ids, "front", step))
        assert len({part.any() for part in parts}) == 1
        assert image is GREY or not image.any()
        dropped.append(image is not GREY)
    assert 0.2 < np.mean(dropped) < 0.4


@pytest.mark.parametrize(("rows", "bands"), [(1024, 40), (512, 20), (256, 10), (128, 5)])
def test_flicker_has_as_many_bands_a_row_as_said_at_every_height(rows: int, bands: int) -> None:
    image = np.full((rows, 4, 3), 120, dtype=np.uint8)
    first, second = (sensor("light_flicker", 20.0).image(image, "front", step)[:, 0, 0] / 120 - 1 for step in (0, 1))
    spectrum = np.abs(np.fft.rfft(first))
    assert int(spectrum[1:].argmax()) + 1 == bands
    assert 2 * spectrum.max() / rows == pytest.approx(0.1, rel=0.02)
    assert not np.array_equal(first, second)


@pytest.mark.parametrize("severity", [20.0, 50.0, 80.0, PERTURBATIONS["light_flicker"].most])
def test_flicker_changes_with_the_height_by_no_leap_and_stays_below_what_can_be_drawn(severity: float) -> None:
    def lit(rows: int) -> NDArray[np.uint8]:
        image = np.full((rows, 1, 3), 120, dtype=np.uint8)
        return sensor("light_flicker", severity).image(image, "front", 0)[:, 0, 0]

    whole = lit(1024)
    for rows in (1, 64, 255, 256, 257, 511):
        assert np.array_equal(lit(rows), whole[:rows])
    # Of a wave above half the rows another, slower one would be seen.
    assert np.abs(np.fft.rfft(whole / 120.0 - 1.0))[1:].argmax() + 1 == 2 * severity < 512


def test_frames_are_dropped_by_each_camera_alone_or_by_all_together() -> None:
    def dropped(name: str) -> NDArray[np.bool_]:
        running = sensor(name, 0.3)
        return np.array([[running.image(GREY, c, step) is not GREY for c in ("front", "wrist")] for step in range(400)])

    apart, together = dropped("frame_drop"), dropped("frame_drop_all")
    for found in (apart, together):
        assert (found.mean(axis=0) > 0.2).all() and (found.mean(axis=0) < 0.4).all()
    assert (together[:, 0] == together[:, 1]).all() and 0.03 < apart.all(axis=1).mean() < 0.18


def test_rows_are_shifted_by_the_root_of_their_height() -> None:
    image = np.random.default_rng(0).integers(0, 256, (20, 40, 3), dtype=np.uint8)
    skewed = sensor("rolling_shutter", 0.2).image(image, "front", 0)
    for y in range(20):
        shift = round(40 * 0.2 * math.sqrt(y / 20))
        assert np.array_equal(skewed[y, shift:], image[y, : 40 - shift])
        assert (skewed[y, :shift] == image[y, 0]).all()


@pytest.mark.parametrize("length_px", [0.2, 3.0, 31.0, 40.0, 300.0])
def test_a_blur_weighs_the_pixels_of_a_line(length_px: float) -> None:
    taps = line(length_px, math.pi / 6)
    total = sum(tap.weight for tap in taps)
    assert total in (256, 65536) and min(tap.weight for tap in taps) > 0
    down, across, weights = np.array(taps).T
    assert np.average(across, weights=weights) == pytest.approx(0, abs=0.1)
    # A line of this length has this spread along itself; its pixels add a little.
    spread = np.average(down**2 + across**2, weights=weights)
    assert spread == pytest.approx(length_px**2 / 12, rel=0.05, abs=0.5)
    assert np.abs(down * math.cos(math.pi / 6) - across * math.sin(math.pi / 6)).max() < 1.5


def test_a_blob_hides_a_part_and_is_near() -> None:
    image = np.zeros((64, 64, 3), dtype=np.uint8)
    depth, ids = np.full((64, 64), 0.9, dtype=np.float32), np.ones((64, 64), dtype=np.int32)
    for seed in range(5):
        running = sensor("occluding_blob", 0.3, seed)
        hidden = running.image(image, "front", 9).any(axis=2)
        assert 0.03 < hidden.mean() < 0.12
        near = running.depth(depth, "front", 9)
        assert np.array_equal(near < 0.5, hidden) and near.min() == pytest.approx(0.3)
        assert np.array_equal(running.segmentation(ids, "front", 9) == 0, hidden)
        assert not np.array_equal(hidden, running.image(image, "wrist", 9).any(axis=2))
        assert not np.array_equal(hidden, running.image(image, "front", 60).any(axis=2))


def test_exposure_drifts_from_nothing_to_its_stops() -> None:
    for seed in range(6):
        running = sensor("exposure_drift", 1.0, seed)
        assert running.image(GREY, "front", 0) is GREY
        levels = [int(running.image(GREY, "front", step)[0, 0, 0]) for step in (20, 80, 160, 400)]
        up = levels[0] > 128
        assert levels[:3] == sorted(levels[:3], reverse=not up) and levels[2] == levels[3]
        assert levels[2] == round(128 * 2 ** ((1 if up else -1) / 2.2))


def test_spells_fill_their_share_of_the_time_and_can_be_asked_about_at_any_time() -> None:
    intermittent = Intermittent(2.0, Draws(Streams(1), "x"), "front")
    times = np.arange(0, 600, 0.05)
    left = np.array([intermittent.left_s(float(time)) for time in times])
    assert (left > 0).mean() == pytest.approx(2 / (2 + GAP_S), abs=0.02)
    # It runs out as time passes.
    inside = (left[:-1] > 0.06) & (left[1:] > 0)
    assert np.allclose(np.diff(left)[inside], -0.05)
    assert (
        left.max() <= 2.0
        and [intermittent.left_s(float(time)) for time in times[500:0:-50]] == left[500:0:-50].tolist()
    )


def test_a_frozen_view_repeats_the_frame_before() -> None:
    running, intermittent = sensor("stale_frames", 1.0), Intermittent(1.0, Draws(Streams(0), "stale_frames"), "front")
    last, frozen = None, 0
    for step in range(200):
        frame: NDArray[np.uint8] = np.full((2, 2, 3), step, dtype=np.uint8)
        shown = running.image(frame, "front", step)
        if last is not None and intermittent.is_on(step * 0.05):
            assert shown is last
            frozen += 1
        else:
            assert shown is frame
            last = frame
    assert 40 <= frozen <= 90


# Commands.


def test_latency_executes_what_was_issued_so_long_ago() -> None:
    initial, issued = command(9.0), [command(float(step)) for step in range(12)]
    running = start("actuator_latency", 0.25)
    executed, held = [], initial
    for step, each in enumerate(issued):
        held = running.action(each, held, step)
        executed.append(held)
    assert all(each is initial for each in executed[:5])
    assert all(each is issued[step] for step, each in enumerate(executed[5:]))


@pytest.mark.parametrize(
    ("severity", "hz", "steps"),
    [(0.25, 20, 5), (0.75, 20, 15), (1.25, 20, 25), (0.25, 10, 3), (0.75, 10, 8), (1.25, 10, 13), (0.25, 30, 8),
     (0.25, 15, 4), (0.02, 20, 0), (0.03, 20, 1), (1.25, 60, 75)],
)  # fmt: skip
def test_latency_is_the_nearest_number_of_steps(severity: float, hz: float, steps: int) -> None:
    initial, running = command(9.0), start("actuator_latency", severity, hz=hz)
    issued = [command(float(step)) for step in range(steps + 1)]
    executed = [running.action(each, initial, step) for step, each in enumerate(issued)]
    assert all(each is initial for each in executed[:-1]) and executed[-1] is issued[0]


def test_packet_loss_repeats_what_was_executed_before() -> None:
    initial, issued = command(9.0), [command(float(step)) for step in range(300)]
    running = start("packet_loss", 0.3, seed=2)
    lost = [Draws(Streams(2), "packet_loss").rng(step).random() < 0.3 for step in range(300)]
    held, count = initial, 0
    for step, each in enumerate(issued):
        expected = held if lost[step] else each
        # What another perturbation made of it is not what is repeated.
        held = running.action(each, command(-1.0) if step else initial, step)
        assert held is expected
        count += held is not each
    assert count == sum(lost) and 60 < count < 120


def test_backlash_is_a_play() -> None:
    running = start("gripper_backlash", 0.2)
    driven = [1.0, 0.95, 0.8, 0.0, 0.05, 0.15, 0.4, 0.4, 0.35]
    expected = [1.0, 1.0, 0.9, 0.1, 0.1, 0.1, 0.3, 0.3, 0.3]
    held = command(0.0, 1.0)
    for step, (opening, fingers) in enumerate(zip(driven, expected, strict=True)):
        issued = command(float(step), opening)
        held = running.action(issued, held, step)
        assert held.openings[0] == pytest.approx(fingers) and np.array_equal(held.joints, issued.joints)
        assert (held is issued) == (fingers == opening)


def drive(applied: tuple[tuple[str, float], ...], hz: float, steps: int = 40) -> Environment:
    """Steps of the hand in its own space, one a query."""
    running = environment(*applied, spec=PolicySpec(action_space="ee_delta", hz=hz, state=()))
    rng = np.random.default_rng(5)
    for _ in range(steps):
        running.observe()
        moved = np.append(rng.uniform(-0.01, 0.01, 6), rng.uniform(0, 1)).astype(np.float32)
        running.accept(moved[None], 0.0)
        running.step()
    return running


@pytest.mark.parametrize("hz", [20.0, 10.0])
def test_latency_holds_joint_commands_though_the_policy_sends_steps(hz: float) -> None:
    clean, stressed = drive((), hz), drive((("actuator_latency", 0.75),), hz)
    issued, executed = clean.trajectory().commands, stressed.trajectory().commands
    delay = {20.0: 15, 10.0: 8}[hz]
    start_pose = np.append(environment().simulation.command.joints, np.float32(1.0))
    assert (executed[:delay] == start_pose).all()
    assert np.array_equal(executed[delay:], issued[:-delay])
    assert stressed.trajectory().is_command_perturbed.all()
    assert not clean.trajectory().is_command_perturbed.any()


@pytest.mark.parametrize("hz", [20.0, 10.0])
def test_packet_loss_holds_joint_commands_though_the_policy_sends_steps(hz: float) -> None:
    clean, stressed = drive((), hz), drive((("packet_loss", 0.3),), hz)
    issued, executed = clean.trajectory().commands, stressed.trajectory().commands
    lost = stressed.trajectory().is_command_perturbed
    assert 4 <= lost.sum() <= 20
    last = np.append(environment().simulation.command.joints, np.float32(1.0))
    for step in range(len(issued)):
        last = last if lost[step] else issued[step]
        assert np.array_equal(executed[step], last)


def sent(space: ActionSpace, severity: float, actions: list[NDArray[np.float32]]) -> Trajectory:
    running = environment(("action_repeat", severity), spec=PolicySpec(action_space=space, state=()))
    for each in actions:
        running.accept(each[None], 0.0)
        running.step()
    return running.trajectory()


def test_a_lost_step_makes_the_one_before_be_done_again() -> None:
    rng = np.random.default_rng(5)
    steps = [np.append(rng.uniform(-0.01, 0.01, 6), 1.0).astype(np.float32) for _ in range(40)]
    kept = sent("ee_delta", 0.3, steps)
    lost = kept.is_command_perturbed
    assert 4 <= lost.sum() <= 20 and not lost[0] and lost[1:].any()
    arrived = [steps[max(s for s in range(step + 1) if not lost[s])] for step in range(40)]
    done = sent("ee_delta", 0.0, arrived)
    assert np.array_equal(kept.commands, done.commands) and not done.is_command_perturbed.any()
    assert np.array_equal(kept.actions, steps), "recorded is what the policy sent"
    # The robot goes on where under packet loss it stands.
    assert (np.abs(np.diff(kept.commands[:, :7], axis=0)).max(axis=1) > 0).all()


@pytest.mark.parametrize("space", ["joint", "ee_pose"])
def test_a_lost_target_is_held_as_under_packet_loss(space: ActionSpace) -> None:
    home = environment()
    if space == "joint":
        start = np.append(home.simulation.command.joints, 1.0)
    else:
        tool = Kinematics("panda").tool_in_base(home.simulation.command.joints.astype(np.float64))
        start = np.array([*tool.position, *tool.quaternion, 1.0])
    moved = np.zeros(len(start))
    moved[0] = 0.003
    kept = sent(space, 0.3, [(start + step * moved).astype(np.float32) for step in range(40)])
    lost = kept.is_command_perturbed
    held = np.abs(np.diff(kept.commands[:, :7], axis=0)).max(axis=1)
    assert 4 <= lost.sum() <= 20
    assert held[lost[1:]].max() < 1e-4 < held[~lost[1:]].min()


@pytest.mark.parametrize("stressor", ["actuator_latency", "packet_loss"])
def test_stability_is_of_what_the_policy_commands_not_of_what_is_executed(stressor: str) -> None:
    clean, stressed = drive((), 20.0), drive(((stressor, 0.5),), 20.0)
    assert np.array_equal(clean.issued_joints, clean.trajectory().commands[:, :7])
    assert np.array_equal(stressed.issued_joints, clean.issued_joints)
    assert not np.array_equal(stressed.trajectory().commands[:, :7], stressed.issued_joints)


def test_two_stressors_draw_as_each_does_alone() -> None:
    spec = PolicySpec(action_space="joint", cameras=(CameraRequest("front", 8, 8), CameraRequest("wrist", 8, 8)))

    def faults(*applied: tuple[str, float]) -> tuple[list[bool], list[bool]]:
        running = environment(*applied, spec=spec)
        home = np.append(running.simulation.command.joints, np.float32(1.0))
        dropped = []
        for step in range(30):
            dropped += [not image.any() for image in running.observe().images.values()]
            running.accept((home + np.float32(1e-3 * step))[None], 0.0)
            running.step()
        running.close()
        return dropped, running.trajectory().is_command_perturbed.tolist()

    both = faults(("frame_drop", 0.3), ("packet_loss", 0.3))
    assert both == (faults(("frame_drop", 0.3))[0], faults(("packet_loss", 0.3))[1])
    assert any(both[0]) and any(both[1])


# What else a robot has: encoders, weights, friction, a place, and a policy that thinks.


def test_encoders_that_are_off_move_the_arm_and_say_that_it_is_right() -> None:
    spec = PolicySpec(action_space="joint", state=("joint_positions", "ee_pose"))
    blind = PolicySpec(action_space="joint", state=("ee_pose",))
    running, other = (environment(("encoder_bias", 0.04), spec=each) for each in (spec, blind))
    target = np.append(running.simulation.command.joints, np.float32(1.0))
    for each in (running, other):
        for _ in range(40):
            each.observe()
            each.accept(target[None], 0.0)
            each.step()
    state, joints = running.observe().state, running.simulation.joint_positions()
    bias = 0.04 * Draws(Streams(0), "encoder_bias").rng().uniform(-1, 1, 7)
    assert np.allclose(joints, target[:7] + bias, atol=3e-3) and np.abs(bias).max() > 0.02
    assert np.allclose(state["joint_positions"], joints - bias, atol=1e-6)
    believed, actual = Kinematics("panda").tool_in_base(joints - bias), Kinematics("panda").tool_in_base(joints)
    assert np.allclose(state["ee_pose"][:3], believed.position, atol=1e-5)
    said, turned = np.array(state["ee_pose"][3:]), np.array(believed.quaternion)
    assert abs(said @ turned) == pytest.approx(1, abs=1e-6)
    assert math.dist(believed.position, actual.position) > 0.005
    assert math.dist(other.observe().state["ee_pose"][:3], believed.position) < 1e-3
    assert running.trajectory().is_query_perturbed.all() and running.trajectory().is_command_perturbed.all()


def test_cameras_are_elsewhere_than_their_calibration_says() -> None:
    spec = PolicySpec(cameras=(CameraRequest("front", 48, 64), CameraRequest("wrist", 48, 64)), state=())
    deviations = np.zeros(3)
    for seed in range(4):
        clean = environment(seed=seed, spec=spec)
        image = clean.observe().images["front"].astype(float)
        for index, severity in enumerate(PERTURBATIONS["calibration_offset"].severities.values()):
            moved = environment(("calibration_offset", severity), seed=seed, spec=spec)
            shown = moved.observe().images
            assert np.array_equal(shown["wrist"], clean.observe().images["wrist"])
            assert moved.start().cameras == clean.start().cameras
            deviations[index] += np.mean((shown["front"] - image) ** 2)
            # The table's middle seems to be this far from where it is.
            places = [each.simulation.camera("front").in_world.inverse().position for each in (clean, moved)]
            assert severity <= math.dist(*places) <= 1.05 * severity
            moved.close()
        clean.close()
    assert 0 < deviations[0] < deviations[1] < deviations[2]


def test_a_payload_is_on_every_loose_thing() -> None:
    clean, heavy = environment(), environment(("payload", 1.5))
    for thing in clean.simulation.scene:
        before, after = (running.simulation.model.body(thing.name).mass[0] for running in (clean, heavy))
        assert after - before == pytest.approx(0.0 if thing.is_fixed else 1.5)


def test_with_less_friction_a_thing_slides_further() -> None:
    slippery = environment(("friction", 0.8), spec=PolicySpec(action_space="joint", state=()))
    before = slippery.simulation.model.geom_friction.copy()
    slippery.observe()
    slippery.accept(np.append(slippery.simulation.command.joints, np.float32(1.0))[None], 0.0)
    slippery.step()
    after = slippery.simulation.model.geom_friction
    assert np.allclose(after[:, 0], 0.2 * before[:, 0]) and np.array_equal(after[:, 1:], before[:, 1:])
    assert slippery.trajectory().is_query_perturbed.all()

    def slid_m(*applied: tuple[str, float]) -> float:
        running = environment(*applied, spec=PolicySpec(action_space="joint", state=()))
        home = np.append(running.simulation.command.joints, np.float32(1.0))
        name = next(thing.name for thing in running.simulation.scene if not thing.is_fixed)
        running.accept(np.repeat(home[None], 20, axis=0), 0.0)
        running.step()
        begin = running.world.position(name)
        running.simulation.set_velocity(name, (0.0, 0.3, 0.0))
        for _ in range(15):
            running.step()
        return math.dist(begin, running.world.position(name))

    # v² / (2 μ g): five times as far with a fifth of the friction.
    assert slid_m() == pytest.approx(0.3**2 / 2 / 9.81, rel=0.35)
    assert slid_m(("friction", 0.8)) / slid_m() == pytest.approx(5, rel=0.35)


def test_a_reply_that_pauses_lets_the_last_command_hold() -> None:
    running = environment(("inference_pauses", 1.0), spec=PolicySpec(action_space="joint", state=()))
    home = np.append(running.simulation.command.joints, np.float32(1.0))
    for step in range(120):
        if running.needs_chunk:
            running.observe()
            running.accept((home + np.float32(1e-3 * step))[None], 0.0)
        running.step()
    kept = running.trajectory()
    intermittent = Intermittent(1.0, Draws(Streams(0), "inference_pauses"))
    assert kept.is_query_perturbed.tolist() == [intermittent.is_on(step / 20) for step in kept.query_steps]
    assert 1 <= kept.is_query_perturbed.sum() <= 3
    late = int(kept.query_steps[kept.is_query_perturbed][0])
    delay = math.ceil(intermittent.left_s(late / 20) * 20 - 1e-6)
    assert delay >= 19 and np.isnan(kept.actions[late : late + delay]).all()
    assert (kept.commands[late : late + delay] == kept.commands[late - 1]).all()
    assert np.allclose(kept.commands[late + delay, :7], home[:7] + 1e-3 * late, atol=1e-6)
    assert not kept.is_command_perturbed.any()


@pytest.mark.parametrize(("name", "severity"), [("frame_drop", 0.3), ("camera_disconnect", 1.0)])
def test_exposure_is_logged_for_just_the_queries_that_saw_it(name: str, severity: float) -> None:
    spec = PolicySpec(cameras=(CameraRequest("front", 8, 8), CameraRequest("wrist", 8, 8)), action_space="joint")
    running = environment((name, severity), spec=spec)
    home = np.append(running.simulation.command.joints, np.float32(1.0))
    missing = []
    for _ in range(100):
        images = running.observe().images
        missing.append([not image.any() for image in images.values()])
        running.accept(home[None], 0.0)
        running.step()
    running.close()
    kept = running.trajectory()
    assert kept.is_query_perturbed.tolist() == [any(each) for each in missing]
    assert 5 < sum(map(any, missing)) < 95 and not kept.is_command_perturbed.any()
    if name == "camera_disconnect":
        assert sorted(np.any(missing, axis=0)) == [False, True]


def test_the_lost_camera_is_another_in_another_trial_and_the_only_one_where_there_is_one() -> None:
    def seen(step: int, *cameras: str) -> Observation:
        return Observation("", step, step / 20, "", {}, images=dict.fromkeys(cameras, GREY))

    lost = set()
    for seed in range(12):
        running = sensor("camera_disconnect", 20.0, seed)
        for step in range(70, 90):
            shown = running.observation(seen(step, "front", "wrist")).images
            lost |= {camera for camera, image in shown.items() if not image.any()}
            assert sum(not image.any() for image in shown.values()) <= 1
    assert lost == {"front", "wrist"}
    only = sensor("camera_disconnect", 20.0)
    assert not only.observation(seen(85, "front")).images["front"].any()


def test_the_docs_name_every_stressor_with_its_levels() -> None:
    page = (Path(__file__).parents[2] / "docs" / "perturbations.md").read_text()
    for entry in PERTURBATIONS.entries():
        if entry.is_stressor:
            levels = " | ".join(f"{severity:g}" for severity in entry.severities.values())
            assert re.search(rf"^\| `{entry.name}` \| [^|]+ \| {re.escape(levels)} \|", page, re.MULTILINE), entry.name

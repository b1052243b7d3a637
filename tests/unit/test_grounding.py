"""The semantic grounding layer: scene parsers, the policy around a policy, and what is recorded of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from robodx.errors import UserError
from robodx.grounding.grounded_policy import GroundedPolicy
from robodx.grounding.parser import PARSERS, scene_parser
from robodx.grounding.parsers.sim import SimParser
from robodx.grounding.parsers.vision import VisionParser
from robodx.grounding.scene import ParsedScene
from robodx.policy_contract import (
    POLICIES,
    ActionChunk,
    CameraRequest,
    EpisodeStart,
    Observation,
    PolicySpec,
    make_policy,
    opened,
)
from robodx.records.table import load
from robodx.records.trial import Trial
from robodx.registry import UnknownName
from robodx.running.environment import Environment
from robodx.running.request import Request
from robodx.running.rollout import rollout
from robodx.running.run import run
from robodx.tasks.base import TASKS
from robodx.wires.local import Local
from robodx.wires.protocols import openpi
from robodx.wires.remote import connect, declared
from robodx.wires.serving import Endpoint
from tests.commands import call
from tests.serving import in_a_thread

BIAS, PICK = "bias/put_solid_in_box", "carrier/pick_up"


def trial(task: str = BIAS, seed: int = 0) -> Trial:
    return Trial(task, TASKS[task].version, "sgl:test", seed)


class Listener:
    """Stands still for the rest of the episode, and keeps what it was told and shown."""

    spec = PolicySpec(cameras=(CameraRequest("front", 32, 32),), state=("joint_positions",), latency_s=0.1, replan=5)

    def __init__(self) -> None:
        self.starts: list[EpisodeStart] = []
        self.seen: list[Observation] = []
        self.finished: list[str] = []
        self.is_closed = False

    def reset(self, starts: Sequence[EpisodeStart]) -> None:
        self.starts += starts

    def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk | Exception]:
        self.seen += observations
        return [np.zeros((1, 7), dtype=np.float32) for _ in observations]

    def finish(self, ids: Sequence[str]) -> None:
        self.finished += ids

    def close(self) -> None:
        self.is_closed = True


def asked(policy: GroundedPolicy, *environments: Environment) -> Sequence[ActionChunk | Exception]:
    """What a policy answers to the first observation of each."""
    policy.reset([environment.start() for environment in environments])
    return policy.act([environment.observe() for environment in environments])


# Parsers.


def test_the_simulator_gives_every_thing_as_it_is() -> None:
    for seed in range(3):
        environment = Environment(trial("carrier/put_in", seed), SimParser().spec(PolicySpec()))
        scene = SimParser().parse(environment.start(), environment.observe())
        assert scene is not None and scene.is_measured
        things = {thing.name: thing for thing in environment.simulation.scene}
        assert {each.id: (each.name, each.colour) for each in scene.objects} == {
            name: (thing.kind, thing.colour) for name, thing in things.items()
        }
        assert {each.id for each in scene.objects if each.state == "hollow"} == {
            name for name, thing in things.items() if thing.kind in ("bin", "bowl", "box")
        }


def test_the_simulator_is_asked_only_where_it_is_shown() -> None:
    environment = Environment(trial(), PolicySpec())
    with pytest.raises(RuntimeError, match="privileged"):
        SimParser().parse(environment.start(), environment.observe())


@pytest.mark.parametrize(("task", "seeds"), [(PICK, 2), (BIAS, 1)])
def test_vision_makes_out_what_the_simulator_knows(task: str, seeds: int) -> None:
    # On 20 seeds of each it names all of 118 objects rightly, and their colours, sizes, positions and states.
    parser = VisionParser()
    for seed in range(seeds):
        environment = Environment(trial(task, seed), SimParser().spec(parser.spec(PolicySpec())))
        start, observation = environment.start(), environment.observe()
        true, seen = SimParser().parse(start, observation), parser.parse(start, observation)
        environment.close()
        assert true is not None and seen is not None and len(seen.objects) == len(true.objects)
        for each in true.objects:
            found = min(seen.objects, key=lambda one: math.dist(one.looks.position, each.looks.position))
            assert replace(found, id=each.id, looks=each.looks) == each


def test_vision_sees_nothing_in_pictures_that_have_not_come() -> None:
    parser = VisionParser()
    environment = Environment(trial(), parser.spec(PolicySpec()))
    start, observation = environment.start(), environment.observe()
    environment.close()
    blank = {name: np.zeros_like(picture) for name, picture in observation.images.items()}
    assert parser.parse(start, replace(observation, images=blank)) is None


def test_vision_keeps_the_size_of_pictures_that_the_policy_asked_for() -> None:
    own = PolicySpec(cameras=(CameraRequest("wrist", 96, 96), CameraRequest("front", 128, 64)), state=("ee_pose",))
    spec = VisionParser().spec(own)
    assert spec.cameras[:2] == (own.cameras[0], CameraRequest("front", 128, 64, depth=True))
    assert [camera.name for camera in spec.cameras[2:]] == ["left", "right"]
    assert set(spec.state) == {"ee_pose", "gripper_opening", "base_pose"}


def test_a_parser_of_a_plugin_is_a_policy_too() -> None:
    class Blind:
        """by nothing at all."""

        def spec(self, own: PolicySpec) -> PolicySpec:
            return own

        def parse(self, start: EpisodeStart, observation: Observation) -> ParsedScene | None:
            return ParsedScene(())

    scene_parser("blind")(Blind)
    try:
        assert POLICIES["sgl+blind"].summary == "POLICY with its instruction made clearer by nothing at all."
        policy = make_policy("sgl+blind:still")
        assert isinstance(policy, GroundedPolicy) and isinstance(policy.parser, Blind)
    finally:
        del PARSERS._entries["blind"], POLICIES._entries["sgl+blind"]


# Names.


def test_without_a_parser_in_its_name_it_goes_by_the_policys_own_depth_pictures_or_the_simulator() -> None:
    for name, parser in (("vision", VisionParser), ("still", SimParser), ("expert", SimParser)):
        made = make_policy(f"sgl:{name}")
        assert isinstance(made, GroundedPolicy) and isinstance(made.parser, parser)
    assert make_policy("sgl:vision").spec == make_policy("vision").spec
    assert isinstance(make_policy("sgl+sim:vision"), GroundedPolicy)


def test_wrong_names_are_answered_with_the_right_ones() -> None:
    with pytest.raises(UserError, match='"sgl" is named sgl:POLICY; POLICY is missing'):
        make_policy("sgl")
    with pytest.raises(UnknownName, match=r'No policy "sgl\+sims"\. Did you mean "sgl\+sim"'):
        make_policy("sgl+sims:act")
    with pytest.raises(UnknownName, match=r'No policy "visoin"\. Did you mean "vision"'):
        make_policy("sgl:visoin")
    with pytest.raises(UserError, match='policy "still" speaks RoboDx\'s own conventions and takes no preset'):
        make_policy("sgl:still", "droid")


# The policy around a policy.


def test_the_policy_is_told_clearer_words_and_shown_what_it_asked_for() -> None:
    listener = Listener()
    for parser in (SimParser(), VisionParser()):
        policy, environment = GroundedPolicy(listener, parser), Environment(trial(), parser.spec(Listener.spec))
        asked(policy, environment)
        given = environment.observe()
        environment.close()
        start, seen = listener.starts.pop(), listener.seen.pop()
        assert (given.instruction, seen.instruction) == (
            "Put the small object in the box.",
            "Put the cyan cylinder in the box.",
        )
        assert policy.refined_instruction(start.episode_id) == seen.instruction
        assert start.privileged is seen.privileged is None
        assert list(start.cameras) == list(seen.images) == ["front"] and not seen.depth
        assert list(seen.state) == ["joint_positions"]
        # As without the layer, to the bit.
        plain = Environment(trial(), Listener.spec)
        assert np.array_equal(plain.observe().images["front"], seen.images["front"])
        plain.close()


def test_a_spec_gains_only_what_the_parser_needs() -> None:
    own = Listener.spec
    assert GroundedPolicy(Listener(), SimParser()).spec == replace(own, is_privileged=True)
    spec = GroundedPolicy(Listener(), VisionParser()).spec
    assert replace(spec, cameras=own.cameras, state=own.state) == own


def test_a_privileged_policy_keeps_its_meaning_and_its_world() -> None:
    environment = Environment(trial(), make_policy("sgl:expert").spec)
    expert = make_policy("sgl:expert")
    alone = make_policy("expert")
    start, seen = environment.start(), environment.observe()
    for policy in (expert, alone):
        policy.reset([start])
    assert np.array_equal(np.asarray(expert.act([seen])[0]), np.asarray(alone.act([seen])[0]))


def test_words_are_refined_once_for_each_instruction() -> None:
    parses: list[int] = []

    class Counting(SimParser):
        def parse(self, start: EpisodeStart, observation: Observation) -> ParsedScene | None:
            parses.append(observation.step)
            # Nothing can be made out at first.
            return None if len(parses) == 1 else super().parse(start, observation)

    listener = Listener()
    policy, environment = GroundedPolicy(listener, Counting()), Environment(trial(), Counting().spec(Listener.spec))
    policy.reset([environment.start()])
    seen = environment.observe()
    other = replace(seen, instruction="Drop the small object into the box.")
    for observation in (seen, seen, seen, other, other, seen):
        policy.act([observation])
    environment.close()
    assert len(parses) == 3
    put, drop = "Put the cyan cylinder in the box.", "Drop the cyan cylinder into the box."
    assert [one.instruction for one in listener.seen] == [seen.instruction, put, put, drop, drop, put]


def test_reset_finish_and_close_reach_the_policy() -> None:
    listener = Listener()
    with_parser = GroundedPolicy(listener, SimParser())
    environment = Environment(trial(), with_parser.spec)
    asked(with_parser, environment)
    environment.close()
    with_parser.finish([environment.trial.id])
    with_parser.close()
    assert listener.finished == [environment.trial.id] and listener.is_closed
    assert with_parser.refined_instruction(environment.trial.id) is None


def test_a_scene_that_cannot_be_parsed_ends_its_own_episode_alone() -> None:
    class Failing(SimParser):
        def parse(self, start: EpisodeStart, observation: Observation) -> ParsedScene | None:
            if start.situation_seed == 1:
                raise RuntimeError("the eyes are closed")
            return super().parse(start, observation)

    listener = Listener()
    policy = GroundedPolicy(listener, Failing())
    environments = [Environment(trial(seed=seed), policy.spec) for seed in range(3)]
    first, second, third = asked(policy, *environments)
    for environment in environments:
        environment.close()
    assert isinstance(second, RuntimeError) and str(second) == "the eyes are closed"
    assert isinstance(first, np.ndarray) and isinstance(third, np.ndarray)
    assert [one.episode_id for one in listener.seen] == [environments[0].trial.id, environments[2].trial.id]


def test_what_the_policy_raises_or_answers_instead_of_a_chunk_comes_through() -> None:
    class Wrong(Listener):
        def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk | Exception]:
            return [ValueError("no idea") for _ in observations]

    class Raising(Listener):
        def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk | Exception]:
            raise OSError("no device")

    environment = Environment(trial(), SimParser().spec(Listener.spec))
    (answer,) = asked(GroundedPolicy(Wrong(), SimParser()), environment)
    assert isinstance(answer, ValueError)
    with pytest.raises(OSError, match="no device"):
        asked(GroundedPolicy(Raising(), SimParser()), environment)
    environment.close()


@pytest.mark.parametrize("name", ["random", "act"])
def test_stochastic_and_learned_policies_answer_as_they_would_to_the_clearer_words(name: str) -> None:
    layered, alone = make_policy(f"sgl+sim:{name}"), make_policy(name)
    environment = Environment(trial(), layered.spec)
    start = environment.start()
    for policy in (layered, alone):
        policy.reset([replace(start, privileged=None) if policy is alone else start])
    for _ in range(2):
        seen = environment.observe()
        told = replace(seen, instruction="Put the cyan cylinder in the box.", privileged=None)
        (chunk,) = layered.act([seen])
        assert isinstance(chunk, np.ndarray)
        assert np.array_equal(chunk, np.asarray(alone.act([told])[0]))
        environment.accept(chunk, 0.0)
        while not environment.needs_chunk:
            environment.step()
    environment.close()


def test_a_policy_behind_a_wire_is_told_the_clearer_words() -> None:
    listener = Listener()
    policy = GroundedPolicy(connect(Local(listener), "local", None), SimParser())
    environment = Environment(trial(), policy.spec)
    asked(policy, environment)
    environment.close()
    assert listener.seen[0].instruction == "Put the cyan cylinder in the box."
    preset = declared(policy).preset
    assert preset is not None and preset == declared(policy.wrapped).preset


def test_a_server_is_wrapped_by_its_address() -> None:
    listener = Listener()
    with (
        in_a_thread(openpi.serve, Endpoint(listener, names=openpi.OpenPi.names)) as port,
        opened(f"sgl:openpi://127.0.0.1:{port}") as policy,
    ):
        assert isinstance(policy, GroundedPolicy)
        environment = Environment(trial(), policy.spec)
        asked(policy, environment)
        environment.close()
    assert listener.seen[0].instruction == "Put the cyan cylinder in the box."


# Runs.


def test_what_the_policy_was_told_is_an_event_of_its_episode_beside_what_was_given() -> None:
    trials = [trial(seed=seed) for seed in range(2)]
    alone = {e.trial_id: e for e, _ in rollout(trials, make_policy("sgl:expert"))}
    together = {e.trial_id: e for e, _ in rollout(trials, make_policy("sgl:expert"), batch=2)}
    for one in trials:
        episode = alone[one.id]
        assert [update.text for update in episode.instructions] == [TASKS[BIAS].placed(one.seed).instruction.text]
        told = [event for event in episode.events if event.kind == "refined"]
        assert [(event.step, event.object.split()[0]) for event in told] == [
            (0, episode.instructions[0].text.split()[0])
        ]
        assert "small" not in told[0].object
        assert together[one.id].trajectory_hash == episode.trajectory_hash
        assert [event for event in together[one.id].events if event.kind == "refined"] == told


def test_a_policy_without_the_layer_has_no_such_event() -> None:
    ((episode, _),) = rollout([trial()], make_policy("expert"))
    assert "refined" not in {event.kind for event in episode.events}


def test_the_command_runs_it_and_the_same_command_resumes(tmp_path: Path) -> None:
    words = ("run", PICK, "--policy", "sgl:expert", "--seeds", "2", "--out", "out")
    call(*words, cwd=tmp_path)
    episodes = load(tmp_path / "out")
    assert episodes["policy"].to_list() == ["sgl:expert"] * 2 and episodes["success"].all()
    run(Request((PICK,), "sgl:expert", 2), tmp_path / "out")
    assert load(tmp_path / "out").equals(episodes)
    with pytest.raises(UserError, match="policy"):
        run(Request((PICK,), "sgl+vision:expert", 2), tmp_path / "out")


def test_policies_are_listed_with_what_they_take(tmp_path: Path) -> None:
    said = call("list", "policies", cwd=tmp_path)
    assert all(name in said for name in ("sgl:POLICY", "sgl+sim:POLICY", "sgl+vision:POLICY", "sgl+vlm:POLICY"))

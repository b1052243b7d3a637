"""One trial being executed: scene, robot, stages, events and perturbations, stepped by a policy's actions."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from robodx.interventions.base import intervened
from robodx.language.meaning import Instruction, Meaning
from robodx.perturbations.base import PERTURBATIONS, Draws, Perturbation
from robodx.policy_contract import ActionChunk, EpisodeStart, Observation, PolicySpec, Privileged
from robodx.records.clock import Clock
from robodx.records.episode import InstructionUpdate
from robodx.records.trajectory import Query, Trajectory
from robodx.records.trial import Trial
from robodx.robots.control import Controller, action_width, read_chunk
from robodx.running.expert_takeover import takeover_expert
from robodx.running.fit import check_fit, check_hands
from robodx.running.recorder import Recorder
from robodx.running.senses import calibration, senses
from robodx.running.wait import wait_of
from robodx.scoring.events import Script
from robodx.scoring.stages import Score, Stage
from robodx.sim.build import PHYSICS_STEP_S
from robodx.sim.geometry import Array
from robodx.sim.log import LogEntry
from robodx.sim.render import Renderer
from robodx.sim.robot import ROBOTS, Robot
from robodx.sim.scene import Scene
from robodx.sim.simulation import Simulation
from robodx.sim.world import World
from robodx.spaces import InvalidAction
from robodx.streams import Streams
from robodx.tasks.base import TASKS

# No run comes to it.
USUAL_SEED = 2**31


class FirstReplyInvalid(RuntimeError):
    """The first reply of an episode cannot be executed: a wrong convention, not a behaviour to be scored."""


class Environment:
    """Built for one trial and one policy spec; `step` executes one action at the policy's own rate."""

    def __init__(self, trial: Trial, spec: PolicySpec, *, quality: str = "fast") -> None:
        self.trial, self.spec, self._quality = trial, spec, quality
        self.task, self.robot = TASKS[trial.task], ROBOTS[trial.robot]
        self.task.check_version(trial.task_version)
        streams = Streams.of(trial.seed, self.task.varies)
        situation = intervened(self.task.placed(trial.seed), trial.interventions, trial.seed, self.task.id)
        self._perturbations = _start_perturbations(trial, 1.0 / spec.hz)
        planned = scene = situation.scene
        nominal = {camera.name: camera for camera in scene.told_cameras or scene.cameras}
        for perturbation in self._perturbations:
            perturbation.plan(replace(situation, scene=planned))
            scene = perturbation.scene(scene)
        # A scene or an instruction that was changed is noticed, or might be, at every query.
        self._is_altered = scene is not planned
        check_fit(spec, self.robot, scene)
        start = _start_joints(self.robot, streams if "robot" in self.task.varies else None)
        self.max_steps = round((situation.time_limit_s or self.task.time_limit_s) * spec.hz)
        self._substeps = _substeps(spec.hz, self.max_steps)
        self.waits, self._wait = situation.waits, wait_of(situation, spec.hz)
        self.simulation = Simulation(scene, self.robot, start, substeps=max(self._substeps))
        # What the policy last asked for: a perturbation may have executed something else.
        self._issued = self.simulation.command
        self.world = World(self.simulation)
        for perturbation in self._perturbations:
            perturbation.meet(self.world)
        # Who acts in the policy's place, if anybody ever does.
        self._takeover_expert = takeover_expert(self._perturbations, self.world, self.robot, 1.0 / spec.hz)
        self._is_assisted = False
        # Whether the policy is to begin anew, for it was not its own doing how things came to be as they are.
        self.is_handed_over = False
        self.score = Score(tuple(Stage.of(stage) for stage in situation.stages), situation.never)
        self.events = (*situation.events, *(event for p in self._perturbations for event in p.events()))
        self._script = Script(self.events)
        self.instruction_updates: list[InstructionUpdate] = []
        # What is asked for by each of these.
        self.meanings: list[Meaning] = []
        self._instruct(situation.instruction)
        self.first_instruction = self._instruction
        self._controller = Controller(self.robot, spec.action_space, spec.delta_frame, spec.delta_from)
        self._renderer: Renderer | None = None
        self._clock = Clock.parse(trial.clock)
        self._pending: deque[NDArray[np.float32]] = deque()
        # A chunk on its way, and the step at which it arrives.
        self._awaited: tuple[list[NDArray[np.float32]], int] | None = None
        self._has_replied = False
        self._is_exposed = False
        self._is_over = False
        self._limits: tuple[str, ...] = ()
        self.limit_steps = 0
        # How many steps each limit cut short.
        self.limit_counts: Counter[str] = Counter()
        self.invalid_action: str | None = None
        self.queries: list[Query] = []
        self._actions_received = 0
        self._calibrations = {
            camera.name: calibration(self.simulation, camera.name, nominal) for camera in spec.cameras
        }
        self._action_width = action_width(spec.action_space, self.robot)
        self._no_action = np.full(self._action_width, np.nan, dtype=np.float32)
        self._recorder = Recorder(self.simulation, self._action_width)
        self._senses = senses(self.simulation)
        self._recorder.note_state(self.simulation, self.score.reached)
        if self._takeover_expert is not None:
            self._change_hands()

    # What the policy is told.

    def start(self) -> EpisodeStart:
        self.is_handed_over = False
        return EpisodeStart(
            episode_id=self.trial.id,
            policy_seed=self.trial.policy_seed,
            task=self.trial.task,
            robot=self.trial.robot,
            situation_seed=self.trial.seed,
            repeat=self.trial.repeat,
            instruction=self.instruction_updates[-1].text,
            cameras=self._calibrations,
            privileged=self._privileged(),
        )

    def observe(self) -> Observation:
        simulation = self.simulation
        observation = Observation(
            episode_id=self.trial.id,
            step=simulation.step_count - self._wait.unseen_steps,
            time_s=simulation.time_s - self._wait.unseen_s,
            instruction=self.instruction_updates[-1].text,
            state={name: np.array(self._senses[name](), dtype=np.float32) for name in self.spec.state},
            privileged=self._privileged(),
        )
        if self.spec.cameras:
            observation = self._with_pictures(observation)
        if not self._perturbations:
            return observation
        clean = observation
        for perturbation in self._perturbations:
            observation = perturbation.observation(observation)
        self._is_exposed = self._is_altered or _differs(clean, observation)
        return observation

    def _privileged(self) -> Privileged | None:
        if not self.spec.is_privileged:
            return None
        usual, is_held = partial(usual_layout, self.trial.task), self.simulation.step_count < self._wait.steps
        return Privileged(self.world, self._instruction.meaning, usual, is_held)

    def _with_pictures(self, observation: Observation) -> Observation:
        renderer, cameras = self.renderer, self.spec.cameras
        return replace(
            observation,
            images={c.name: renderer.rgb(c.name, c.height, c.width) for c in cameras},
            depth={c.name: renderer.depth(c.name, c.height, c.width) for c in cameras if c.depth},
            segmentation={c.name: renderer.segmentation(c.name, c.height, c.width) for c in cameras if c.segmentation},
            segmentation_names=tuple(renderer.names) if any(c.segmentation for c in cameras) else (),
        )

    @property
    def renderer(self) -> Renderer:
        if self._renderer is None:
            sizes = [(c.height, c.width) for c in self.spec.cameras]
            self._renderer = Renderer(
                self.simulation, largest=(max(h for h, _ in sizes), max(w for _, w in sizes)), quality=self._quality
            )
        return self._renderer

    # What the policy does.

    @property
    def needs_chunk(self) -> bool:
        if self._pending or self._is_assisted or self._awaited is not None:
            return False
        return not (self.is_done or self.simulation.step_count < self._wait.unseen_steps)

    def accept(self, chunk: ActionChunk | Exception, inference_s: float) -> None:
        """Take a policy's reply. One that cannot be executed ends the episode, or raises if it is the first.

        An exception in place of a chunk is raised, unless it says that the policy's numbers were wrong.
        """
        step = self.simulation.step_count
        pause_s = sum([p.pause_s(step) for p in self._perturbations]) if self._perturbations else 0.0
        self.queries.append(Query(step, inference_s, self._is_exposed or pause_s > 0))
        try:
            if isinstance(chunk, Exception):
                raise chunk
            actions = read_chunk(chunk, self.spec.action_space, self.robot, self._action_width)[: self.spec.replan]
        except InvalidAction as error:
            if not self._has_replied:
                raise FirstReplyInvalid(f"the policy's first reply is {error}") from error
            self.invalid_action = f"at step {step} the policy sent {error}"
            return
        self._has_replied = self._has_replied or step >= self.spec.settle_steps
        self._actions_received += len(actions)
        delay = self._clock.delay_steps(inference_s, self.spec.hz, pause_s) if pause_s or self._clock.is_realtime else 0
        if delay:
            self._awaited = (actions, step + delay)
        else:
            self._pending.extend(actions)

    def step(self) -> None:
        """Execute the next pending action; while a chunk is on its way, the last command holds."""
        simulation = self.simulation
        step = simulation.step_count
        substeps = self._substeps[step]
        is_another = False
        if self._awaited is not None and step >= self._awaited[1]:
            self._pending.extend(self._awaited[0])
            self._awaited = None
        if step < self._wait.steps:
            action = self._pending.popleft() if self._pending else self._no_action
        elif self._is_assisted and self._takeover_expert is not None:
            action = self._no_action
            self._issued = self._takeover_expert.command(self.meaning, self._issued)
        elif self._pending:
            action = arrived = self._pending.popleft()
            for perturbation in self._perturbations:
                arrived = perturbation.reply(arrived, step)
            is_another = arrived is not action
            achieved = simulation.joint_positions() if self._controller.starts_from_achieved else None
            resolved = self._controller.resolve(arrived, self._issued, substeps * PHYSICS_STEP_S, achieved)
            if resolved.limits or self._limits:
                self._note_limits(resolved.limits)
            self._issued = resolved.command
        else:
            action = self._no_action
        command = self._issued
        for perturbation in self._perturbations:
            command = perturbation.action(command, simulation.command, step)
        simulation.step(command, substeps)
        if self.events:
            self._script.update(self.world, simulation, self._instruct)
        is_last = simulation.step_count >= self.max_steps
        self.score.update(self.world, is_last=is_last)
        self._is_over = is_last or self.score.is_over
        is_perturbed = self._is_assisted or is_another or command is not self._issued
        self._recorder.note_step(action, command, self._issued, is_perturbed)
        self._recorder.note_state(simulation, len(self.score.stage_steps))
        self.is_handed_over = self.is_handed_over or step + 1 == self._wait.unseen_steps
        if self._takeover_expert is not None:
            self._change_hands()

    def _change_hands(self) -> None:
        """Let the expert act, or the policy again, whoever's turn it is."""
        assert self._takeover_expert is not None
        was_assisted, self._is_assisted = self._is_assisted, self._takeover_expert.is_called(self.score)
        if self._is_assisted and not was_assisted:
            self._pending.clear()
            self._awaited = None
            self._takeover_expert.take_over()
        elif was_assisted and not self._is_assisted:
            self.is_handed_over = True

    @property
    def is_done(self) -> bool:
        return self._is_over or self.invalid_action is not None

    @property
    def meaning(self) -> Meaning:
        """What is asked for now, whatever words a null input puts in its place."""
        return self.meanings[-1]

    @property
    def calls_per_s(self) -> float | None:
        """Of the policy at its boundary: how many queries it answers in a second of its thinking."""
        return self._per_s(len(self.queries))

    @property
    def actions_per_s(self) -> float | None:
        """As `calls_per_s`, of the actions in its answers."""
        return self._per_s(self._actions_received)

    def _per_s(self, count: int) -> float | None:
        thinking_s = sum(query.inference_s for query in self.queries)
        return count / thinking_s if thinking_s > 0 else None

    @property
    def issued_joints(self) -> Array:
        """What the policy's actions came to (n, joints), before a perturbation executed something else."""
        return self._recorder.issued_joints()

    def trajectory(self) -> Trajectory:
        return self._recorder.trajectory(self.queries)

    def close(self) -> None:
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None

    def _instruct(self, instruction: Instruction) -> None:
        said = asked = instruction
        # Null words last: what is left of a sentence cannot be rephrased.
        for perturbation in sorted(self._perturbations, key=lambda one: one.keeps_goal):
            instruction = perturbation.instruction(instruction)
            asked = asked if perturbation.keeps_goal else instruction
        self._is_altered = self._is_altered or instruction is not said
        check_hands(instruction.meaning, self.robot)
        self._instruction = instruction
        self.meanings.append(asked.meaning)
        if self._takeover_expert is not None and not self._is_assisted:
            self._takeover_expert.listen(self.meaning)
        step = self.simulation.step_count
        self.instruction_updates.append(InstructionUpdate(step, instruction.text))
        if step:
            # A chunk under way goes on: the policy reads the new words when it is asked next, as it would on a robot.
            self.world.log.add(LogEntry(step, self.simulation.time_s, "instruction", instruction.text))

    def _note_limits(self, limits: tuple[str, ...]) -> None:
        if limits:
            self.limit_steps += 1
            self.limit_counts.update(limits)
            step, time_s = self.simulation.step_count, self.simulation.time_s
            for name in limits:
                if name not in self._limits:
                    self.world.log.add(LogEntry(step, time_s, "limit", name))
        self._limits = limits


def usual_layout(task: str) -> Scene:
    """How the task looks in another seed: what one remembers who goes by memory."""
    return TASKS[task].placed(USUAL_SEED).scene


def _differs(clean: Observation, observed: Observation) -> bool:
    """Whether anything that a policy is shown was put in another's place."""
    parts = ("images", "depth", "segmentation", "state")
    return observed.instruction != clean.instruction or any(
        getattr(observed, part).get(name) is not shown for part in parts for name, shown in getattr(clean, part).items()
    )


def _start_perturbations(trial: Trial, period_s: float) -> list[Perturbation]:
    return [
        PERTURBATIONS[name].start(severity, Draws(trial.streams, name), period_s, trial.robot)
        for name, severity in trial.perturbations
        if severity != 0
    ]


def _start_joints(robot: Robot, noise: Streams | None) -> Array:
    home = np.array(robot.home)
    if noise is None:
        return home
    turned = noise.rng("robot").normal(0.0, robot.start_noise_rad, home.shape)
    # Of what turns: a lift stands where it was left.
    return home + np.where(np.isin(robot.joints, [joint for arm in robot.arms for joint in arm.joints]), turned, 0.0)


def _substeps(hz: float, steps: int) -> list[int]:
    """Physics steps of each control step: for rates that do not divide 500 Hz the remainder is carried along."""
    ends = [round(step / (hz * PHYSICS_STEP_S)) for step in range(steps + 1)]
    return [after - before for before, after in pairwise(ends)]

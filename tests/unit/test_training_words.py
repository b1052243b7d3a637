"""Seeds for training say what is to be done in any of the training phrasings, all others in the canonical one."""

from __future__ import annotations

import inspect
from dataclasses import replace

import pytest

from robodx.language.meaning import Instruction
from robodx.language.phrasing import Split, wordings
from robodx.perturbations.base import PERTURBATIONS, Draws
from robodx.running.demonstrations import demonstrate
from robodx.scoring.events import NewInstruction
from robodx.streams import FIRST_TRAINING_SEED, Streams
from robodx.tasks.base import TASKS, Situation

TRAINING = range(FIRST_TRAINING_SEED, FIRST_TRAINING_SEED + 6)
EVERY_TASK = pytest.mark.parametrize("task", list(TASKS))


def instructions(situation: Situation) -> list[Instruction]:
    """The first and those that come later."""
    effects = [event.effect for event in situation.events]
    return [situation.instruction, *(each.instruction for each in effects if isinstance(each, NewInstruction))]


def plain(task: str, seed: int) -> Situation:
    """As the task lays it out, whatever the seed is for; but in the room of the seed."""
    laid_out, scene = TASKS[task].situate(TASKS[task].streams(seed)), TASKS[task].situation(seed).scene
    return replace(laid_out, scene=replace(laid_out.scene, arena=scene.arena, lights=scene.lights))


@EVERY_TASK
def test_a_training_seed_differs_in_words_only(task: str) -> None:
    said = set()
    for seed in TRAINING:
        situation, before = TASKS[task].situation(seed), plain(task, seed)
        assert replace(situation, instruction=before.instruction, events=before.events) == before
        for now, canonical in zip(instructions(situation), instructions(before), strict=True):
            assert now.meaning == canonical.meaning
            assert now.text in {each.text for each in wordings(canonical, "train")}
        said.add(tuple(each.text for each in instructions(situation)))
    assert len(said) > 1
    assert TASKS[task].situation(seed) == situation, "the same again"


def test_later_instructions_vary_by_themselves() -> None:
    said = [[each.text for each in instructions(TASKS["adaptability/pick_other_cube"].situation(s))] for s in TRAINING]
    assert len({later for _, later in said}) > 1 and len({tuple(each) for each in said}) > 2


@pytest.mark.parametrize("seed", [0, FIRST_TRAINING_SEED - 1])
def test_other_seeds_say_it_canonically(seed: int) -> None:
    for task in ("control/stack_cube", "adaptability/pick_other_cube", "dynamic/press_switch_in_time"):
        assert TASKS[task].situation(seed) == plain(task, seed)


@pytest.mark.parametrize("split", ["train", "test"])
@pytest.mark.parametrize("task", ["control/stack_cube", "spatial/assemble_set", "language/conditional"])
def test_a_paraphrase_is_another_phrasing_of_its_split(task: str, split: Split) -> None:
    """Of a task with its own sentences it is one of these, so that their structure stays."""
    entry = PERTURBATIONS["paraphrase"]
    for seed in range(4):
        instruction = TASKS[task].situation(seed).instruction
        paraphrase = entry.start(entry.levels[split], Draws(Streams(seed), "paraphrase"), 0.1)
        other = paraphrase.instruction(instruction)
        assert other.meaning == instruction.meaning
        alone = wordings(instruction, split) == (instruction,)
        assert (other.text != instruction.text) != alone
        assert other.text in {each.text for each in wordings(instruction, split)}


def test_demonstrations_are_of_a_training_seed() -> None:
    assert inspect.signature(demonstrate).parameters["seed"].default == FIRST_TRAINING_SEED

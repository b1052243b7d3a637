"""What the expert needs in the same situation, the reference for a policy's path; computed once per process."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

from robodx.perturbations.base import PERTURBATIONS
from robodx.policy_contract import Policy, make_policy
from robodx.records.episode import Attributes, Episode, Quantity
from robodx.records.trial import Trial
from robodx.running.observers import EpisodeObserver, Finished
from robodx.running.rollout import rollout

# A path this many times the expert's is a detour.
DETOUR = 2.0
EXPERTS = ("expert", "demonstrator")


class Needs(NamedTuple):
    """What the expert took to succeed."""

    path_m: float
    duration_s: float
    grasps: int


# By the id of the expert's trial; None where it did not succeed. Numbers, so that many cost little.
_NEEDS: dict[str, Needs | None] = {}


@dataclass(frozen=True)
class ExpertReference(EpisodeObserver):
    """Measures each path by the expert's in the same task, seed and scene, and records what the expert needs there."""

    def after_episode(self, trial: Trial, finished: Finished) -> Finished:
        return finished if finished.episode.path_length_m is None else _measured(finished, trial)


def _measured(finished: Finished, trial: Trial) -> Finished:
    episode, path_m = finished.episode, finished.episode.path_length_m
    assert path_m is not None
    reference = reference_trial(trial)
    # Who demonstrates is the expert, shown pictures too.
    is_expert = trial.policy.partition(":")[0] in EXPERTS
    if is_expert and replace(trial, policy="expert").id == reference.id and reference.id not in _NEEDS:
        _NEEDS[reference.id] = _needs(episode)
    if reference.id not in _NEEDS:
        (expert,) = rollout([reference], _expert())
        _NEEDS[reference.id] = _needs(expert.episode)
    needs = _NEEDS[reference.id]
    if needs is None:
        return finished
    episode = replace(episode, attributes=_with_needs(episode.attributes or Attributes(), needs))
    # Of a task that is solved from the start, the expert's path is no measure.
    if not needs.path_m:
        return finished._replace(episode=episode)
    ratio = path_m / needs.path_m
    flags = (*episode.quality_flags, "detour") if ratio > DETOUR else episode.quality_flags
    return finished._replace(episode=replace(episode, length_ratio=ratio, quality_flags=flags))


def reference_trial(trial: Trial) -> Trial:
    """The expert's, in the scene as it was, with nothing else in its way."""
    scenes = tuple((name, level) for name, level in trial.perturbations if PERTURBATIONS[name].kind == "scene")
    return Trial(
        trial.task, trial.task_version, "expert", trial.seed, trial.robot, perturbations=scenes,
        interventions=trial.interventions,
    )  # fmt: skip


@cache
def _expert() -> Policy:
    return make_policy("expert")


def _needs(episode: Episode) -> Needs | None:
    if not episode.success or episode.path_length_m is None or episode.duration_s is None:
        return None
    return Needs(episode.path_length_m, episode.duration_s, sum(event.kind == "grasp" for event in episode.events))


def _with_needs(attributes: Attributes, needs: Needs) -> Attributes:
    numbers = (Quantity(f"expert_{name}", float(value)) for name, value in needs._asdict().items())
    return replace(attributes, numbers=(*attributes.numbers, *numbers))

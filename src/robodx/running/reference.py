"""The expert's path in the same situation, the reference for a policy's path; computed once per process."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

from robodx.perturbations.base import PERTURBATIONS
from robodx.policy_contract import Policy, make_policy
from robodx.records.episode import Episode
from robodx.records.trial import Trial
from robodx.running.observers import EpisodeObserver, Finished
from robodx.running.rollout import rollout

# A path this many times the expert's is a detour.
DETOUR = 2.0
# Of situations whose expert's path is kept: numbers, so that many cost little.
_PATHS: dict[str, float | None] = {}


@dataclass(frozen=True)
class ExpertReference(EpisodeObserver):
    """Measures the length of each path by the expert's in the same task, seed and scene."""

    def after_episode(self, trial: Trial, finished: Finished) -> Finished:
        return finished if finished.episode.path_length_m is None else _measured(finished, trial)


def _measured(finished: Finished, trial: Trial) -> Finished:
    episode = finished.episode
    assert episode.path_length_m is not None
    reference = reference_trial(trial)
    if reference.id == trial.id and reference.id not in _PATHS:
        _PATHS[reference.id] = _path_m(episode)
    if reference.id not in _PATHS:
        (expert,) = rollout([reference], _expert())
        _PATHS[reference.id] = _path_m(expert.episode)
    path_m = _PATHS[reference.id]
    # Of a task that is solved from the start, the expert's path is no measure.
    if not path_m:
        return finished
    ratio = episode.path_length_m / path_m
    flags = (*episode.quality_flags, "detour") if ratio > DETOUR else episode.quality_flags
    return finished._replace(episode=replace(episode, length_ratio=ratio, quality_flags=flags))


def reference_trial(trial: Trial) -> Trial:
    """The expert's, in the scene as it was, with nothing else in its way."""
    scenes = tuple((name, level) for name, level in trial.perturbations if PERTURBATIONS[name].kind == "scene")
    return Trial(trial.task, trial.task_version, "expert", trial.seed, trial.robot, perturbations=scenes)


@cache
def _expert() -> Policy:
    return make_policy("expert")


def _path_m(episode: Episode) -> float | None:
    return episode.path_length_m if episode.success else None

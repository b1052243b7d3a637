"""RoboDx tells what a robot manipulation policy can do, when it breaks, and why.

The public names are listed in `__all__` and imported on first use, so that `import robodx` stays light.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from robodx.analysis.episode_facts import EpisodeFacts as EpisodeFacts
    from robodx.analysis.metrics.base import metric as metric
    from robodx.analysis.metrics.quantities import quantity as quantity
    from robodx.analysis.statistics.estimates import Estimate as Estimate
    from robodx.evaluation import Results as Results
    from robodx.evaluation import evaluate as evaluate
    from robodx.perturbations.base import Perturbation as Perturbation
    from robodx.perturbations.base import perturbation as perturbation
    from robodx.policy_contract import CameraRequest as CameraRequest
    from robodx.policy_contract import Observation as Observation
    from robodx.policy_contract import Policy as Policy
    from robodx.policy_contract import PolicySpec as PolicySpec
    from robodx.policy_contract import make_policy as make_policy
    from robodx.policy_contract import policy as policy
    from robodx.records.design import Planned as Planned
    from robodx.records.table import load as load
    from robodx.records.trial import Trial as Trial
    from robodx.running.environment import Environment as Environment
    from robodx.running.rollout import rollout as rollout
    from robodx.suites.base import suite as suite
    from robodx.tasks.base import Situation as Situation
    from robodx.tasks.base import task as task
    from robodx.wrapping import wrap as wrap

_HOMES = {
    "CameraRequest": "policy_contract",
    "Environment": "running.environment",
    "EpisodeFacts": "analysis.episode_facts",
    "Estimate": "analysis.statistics.estimates",
    "Observation": "policy_contract",
    "Perturbation": "perturbations.base",
    "Planned": "records.design",
    "Policy": "policy_contract",
    "PolicySpec": "policy_contract",
    "Results": "evaluation",
    "Situation": "tasks.base",
    "Trial": "records.trial",
    "evaluate": "evaluation",
    "load": "records.table",
    "make_policy": "policy_contract",
    "metric": "analysis.metrics.base",
    "perturbation": "perturbations.base",
    "policy": "policy_contract",
    "quantity": "analysis.metrics.quantities",
    "rollout": "running.rollout",
    "suite": "suites.base",
    "task": "tasks.base",
    "wrap": "wrapping",
}

__all__ = [*_HOMES, "__version__"]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return importlib.import_module("importlib.metadata").version("robodx")
    if name not in _HOMES:
        raise AttributeError(f"robodx has no {name!r}; it has: {', '.join(__all__)}")
    return getattr(importlib.import_module(f"robodx.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__

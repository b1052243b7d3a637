"""What run.json records beside the request: the policy, the tasks, and the versions that bits depend on."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from robodx.perturbations.base import PERTURBATIONS
from robodx.policy_contract import PolicySpec
from robodx.records.clock import Clock
from robodx.records.trial import Trial
from robodx.records.versions import machine, versions
from robodx.sim import gl
from robodx.sim.build import IMPEDANCE_RATIO, PHYSICS_STEP_S
from robodx.sim.render import RENDERING_VERSION
from robodx.tasks.base import TASKS
from robodx.wires.remote import Declared

# Of a spec.
SAID_ELSEWHERE = ("settle_steps", "weights_digest")


def description_of(policy: Declared, trials: list[Trial]) -> dict[str, Any]:
    spec = policy.spec
    return {
        # The preset says how long it settles.
        "policy_spec": {name: value for name, value in asdict(spec).items() if name not in SAID_ELSEWHERE},
        "weights_digest": spec.weights_digest,
        "preset": policy.preset,
        "is_reproducible": all(Clock.parse(trial.clock).is_reproducible for trial in trials),
        "physics": {"step_s": PHYSICS_STEP_S, "integrator": "implicitfast", "impratio": IMPEDANCE_RATIO},
        "versions": _versions(spec),
        "machine": machine(),
        "tasks": {task: _card(task) for task in sorted({trial.task for trial in trials})},
        # All of them: a suite may apply others in a later round.
        "perturbations": perturbation_cards(),
    }


def _versions(spec: PolicySpec) -> dict[str, str | None]:
    if not spec.cameras:
        return versions(gl_renderer=None)
    return versions(gl_renderer=gl.renderer_name(), rendering=RENDERING_VERSION)


def perturbation_cards() -> dict[str, dict[str, Any]]:
    """What a report needs to know of perturbations, by name."""
    return {
        entry.name: {
            "kind": entry.kind, "levels": dict(entry.levels), "is_ordered": entry.is_ordered, "anchor": entry.anchor,
            "unit": entry.unit,
        }
        for entry in PERTURBATIONS.entries()
    }  # fmt: skip


def _card(task_id: str) -> dict[str, Any]:
    """What a report needs to know of a task, for it may not import the simulator."""
    task = TASKS[task_id]
    situation = task.situation(0)
    return {
        "version": task.version,
        "summary": task.summary,
        "instruction": situation.instruction.text,
        "stages": [str(stage) for stage in situation.stages],
        "never": [str(condition) for condition in situation.never],
        "varies": list(task.varies),
        "chance": task.chance,
        "primitive": task.primitive,
        "time_limit_s": task.time_limit_s,
        "tags": list(task.tags),
    }

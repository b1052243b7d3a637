"""All that is shown of one episode, but for its curves and its film."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from robodx.report.viewer.library import Run
from robodx.report.viewer.partners import partners

# A policy that shakes logs a limit at every step.
MOST_EVENTS = 500
HZ = 20.0
# Numbers worth a look, in this order, with their unit.
MEASURED = {
    "progress": "", "duration_s": "s", "steps": "", "path_length_m": "m", "length_ratio": "× expert", "sparc": "SPARC",
    "stability": "", "slips": "", "drops": "", "collisions": "", "peak_collision_n": "N", "limit_steps": "",
    "joint_limit_s": "s", "queries": "", "perturbed_queries": "", "perturbed_steps": "", "inference_ms_p50": "ms",
    "inference_ms_p95": "ms", "wall_s": "s", "attempt": "",
}  # fmt: skip


def details(run: Run, row: Mapping[str, Any], others: Iterable[Run]) -> dict[str, Any]:
    """Of a row of the run's episodes. `others` are runs in which partners are looked for."""
    listed = run.listing.filter(run.listing["trial_id"] == row["trial_id"]).row(0, named=True)
    card = run.card(row["task"])
    events = row["events"] or []
    shared = (
        "trial_id", "pair_id", "suite", "task", "tier", "tags", "robot", "policy", "seed", "repeat", "clock",
        "success", "steps", "failure_kind", "failure_type", "failure_evidence", "quality_flags", "error",
        "instructions", "target", "mistaken", "requirements", "first_touched",
    )  # fmt: skip
    return {
        **{name: row[name] for name in shared},
        "run": run.found.id,
        "run_name": run.found.name,
        "variant": listed["variant"],
        "outcome": listed["outcome"],
        "summary": card.get("summary"),
        "never": [{"name": str(one), "is_example": _varies(row, card)} for one in _list(card.get("never"))],
        "hz": rate(run.policy_spec.get("hz")),
        "stages": stages(row, card),
        "events": events[:MOST_EVENTS],
        "events_left_out": max(0, len(events) - MOST_EVENTS),
        "measured": [
            {"name": name, "value": row[name], "unit": unit} for name, unit in MEASURED.items() if row[name] is not None
        ],
        "has_video": run.video(row) is not None,
        "partners": partners(run, listed, others),
    }


def stages(row: Mapping[str, Any], card: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The stages in order: when each was reached, and what it asks, as far as the record says.

    The log names those that were reached. Of the others run.json knows the names in the task's first situation,
    which are an example only where tasks change their words or their things.
    """
    logged = {int(event["value"]): event["object"] for event in row["events"] or [] if event["kind"] == "stage"}
    steps = row["stage_steps"] or []
    carded = _list(card.get("stages"))
    count = max(row["stages"] or 0, len(steps))
    return [
        {
            "step": steps[index] if index < len(steps) else None,
            "name": logged.get(index + 1) or (str(carded[index]) if index < len(carded) else None),
            "is_example": index + 1 not in logged and _varies(row, card),
        }
        for index in range(count)
    ]


def _varies(row: Mapping[str, Any], card: Mapping[str, Any]) -> bool:
    """Whether what the card tells of the task's first situation may be otherwise in this one."""
    return row["seed"] != 0 and bool({"instruction", "attributes"} & set(map(str, _list(card.get("varies")))))


def plain(value: Any) -> Any:
    """As JSON and UTF-8 can say it: what is not a number is null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        # Half characters can be read from JSON, but not sent.
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, Mapping):
        return {plain(str(name)): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def rate(hz: object) -> float:
    """Steps a second, as run.json says."""
    return float(hz) if isinstance(hz, int | float) and 0 < hz < 1000 else HZ

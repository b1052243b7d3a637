"""The entries of all registries as rows, for `robodx list`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from robodx.errors import UserError
from robodx.registry import UnknownName, unknown

if TYPE_CHECKING:
    from robodx.records.values import Value

KINDS = (
    "tasks", "policies", "faults", "presets", "protocols", "robots", "perturbations", "interventions", "relations",
    "suites", "metrics", "cameras", "formats", "exports",
)  # fmt: skip


def rows(kind: str, words: Sequence[str] = ()) -> list[dict[str, Any]]:
    """One row an entry that each of the words is true of; the first column is the name to use on the command line.

    Of tasks a word is a family, a tier, a suite of tasks or a selector; a word that is none of these, and any of other
    kinds, is true of what has it in its name or its description.
    """
    # A docstring may have line breaks.
    every = [{name: _flat(value) for name, value in row.items()} for row in _rows(kind)]
    found = every
    for word in words:
        names = _matching(kind, every, word)
        found = [row for row in found if next(iter(row.values())) in names]
    if words and not found:
        raise UserError(f"no {_singular(kind)} is all of: {', '.join(words)}")
    return found


def _matching(kind: str, every: Sequence[dict[str, Any]], word: str) -> set[str]:
    """The names of those that the word is true of."""
    names = [next(iter(row.values())) for row in every]
    near = set(names)
    if kind == "tasks":
        from robodx.suites.base import select
        from robodx.tasks.base import TASKS

        tasks = TASKS.entries()
        if found := [task.id for task in tasks if word in (task.family, task.tier, *task.tags)]:
            return set(found)
        head, _, rest = word.partition("/")
        within = [task for task in tasks if head in task.tags]
        path = tuple((rest if within and rest else word).split("/"))
        try:
            return {task.id for task in select(path, within or tasks)}
        except UnknownName:
            near |= {part for task in tasks for part in (task.family, task.tier, *task.tags) if part}
    said = word.lower()
    found = [name for name, row in zip(names, every, strict=True) if any(said in str(v).lower() for v in row.values())]
    if not found:
        message = unknown(_singular(kind), word, near)
        # A wall of all tasks helps nobody.
        raise UnknownName(
            message if kind != "tasks" or "Did you mean" in message else unknown("task", word, _families())
        )
    return set(found)


def _families() -> list[str]:
    from robodx.tasks.base import TASKS

    return sorted({task.family for task in TASKS.entries()})


def _singular(kind: str) -> str:
    return "policy" if kind == "policies" else kind.removesuffix("s")


def _rows(kind: str) -> list[dict[str, Any]]:
    if kind not in KINDS:
        raise UnknownName(unknown("list", kind, KINDS))
    if kind == "tasks":
        from robodx.tasks.base import TASKS

        return [
            {
                "task": task.id, "tier": task.tier, "varies": ", ".join(task.varies), "chance": round(task.chance, 3),
                "limit_s": task.time_limit_s, "summary": task.summary,
            }
            for task in TASKS.entries()
        ]  # fmt: skip
    if kind == "policies":
        from robodx.policy_contract import POLICIES

        return [
            {"policy": f"{p.name}:{p.takes}" if p.takes else p.name, "summary": p.summary} for p in POLICIES.entries()
        ]
    if kind == "faults":
        from robodx.faults.base import FAULTS

        return [
            {
                "fault": f.name, "severity": f.severity, "unit": f.unit,
                "expected": ": ".join(filter(None, f.expected or ())) or None, "summary": f.summary,
            }
            for f in FAULTS.entries()
        ]  # fmt: skip
    if kind == "presets":
        from robodx.wires.preset_files import find_preset, shipped

        return [
            {
                "preset": name, "actions": preset.actions.space, "hz": preset.hz,
                "cameras": ", ".join(picture.camera for picture in preset.images.values()), "summary": preset.summary,
            }
            for name in shipped()
            for preset in [find_preset(name)]
        ]  # fmt: skip
    if kind == "protocols":
        from robodx.wires.protocols.base import PROTOCOLS

        return [
            {"protocol": p.name, "is_served": p.serve is not None, "summary": p.summary} for p in PROTOCOLS.entries()
        ]
    if kind == "robots":
        from robodx.sim.robot import ROBOTS

        return [
            {
                "robot": robot.name, "arms": len(robot.arms), "joints": sum(len(arm.joints) for arm in robot.arms),
                "cameras": ", ".join(robot.cameras), "summary": robot.description,
            }
            for robot in ROBOTS.entries()
        ]  # fmt: skip
    if kind == "perturbations":
        from robodx.perturbations.base import PERTURBATIONS

        return [
            {
                "perturbation": p.name, "kind": p.kind,
                "levels": ", ".join(_level(level, value) for level, value in p.levels.items()), "summary": p.summary,
                "anchor": p.anchor or None,
            }
            for p in PERTURBATIONS.entries()
        ]  # fmt: skip
    if kind == "interventions":
        from robodx.interventions.base import INTERVENTIONS

        return [
            {
                "intervention": i.name, "factor": i.factor, "values": _told_apart(i.values),
                "sets": ", ".join(i.attributes), "entails": ", ".join(i.entails) or None, "summary": i.summary,
            }
            for i in INTERVENTIONS.entries()
        ]  # fmt: skip
    if kind == "relations":
        from robodx.relations.base import every_relation

        return [
            {
                "relation": r.name, "title": r.title, "pattern": r.pattern, "changes": ", ".join(sorted(r.changes)),
                "summary": r.summary,
            }
            for r in every_relation()
        ]  # fmt: skip
    if kind == "metrics":
        from robodx.analysis.metrics.base import METRICS

        return [
            {"metric": m.name, "unit": m.unit or None, "better": m.better, "summary": m.summary}
            for m in METRICS.entries()
        ]
    if kind == "cameras":
        from robodx.sim.robot import ROBOTS
        from robodx.sim.scene import CAMERAS

        standing = [{"camera": camera.name, "on": "table-top scene"} for camera in CAMERAS]
        return standing + [{"camera": name, "on": robot.name} for robot in ROBOTS.entries() for name in robot.cameras]
    if kind == "formats":
        from robodx.datasets.formats.base import FORMATS

        # One that is registered is read; who has no writer is only read.
        return [
            {"format": f.name, "reads": "yes", "writes": "yes" if f.write else "no", "summary": f.summary}
            for f in FORMATS.entries()
        ]
    if kind == "exports":
        from robodx.exports.base import EXPORTERS

        return [{"export": e.name, "summary": e.summary} for e in EXPORTERS.entries()]
    from robodx.suites.base import SUITES

    return [{"suite": name, "summary": (SUITES[name].__doc__ or "").partition("\n\n")[0]} for name in SUITES]


def _flat(value: Any) -> Any:
    return " ".join(value.split()) if isinstance(value, str) else value


def _level(name: str, value: Value) -> str:
    """As "v2=25"; of words the word alone."""
    if isinstance(value, float):
        return f"{name}={value:g}"
    from robodx.records.values import spelled

    return name if name == value else f"{name}={spelled(value)}"


def _told_apart(values: Iterable[str]) -> str:
    """Some values have commas of their own."""
    every = list(values)
    return ("; " if any("," in value for value in every) else ", ").join(every)

"""What is in a data set, as text for a person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from robodx.datasets.survey import EpisodeSurvey, Range, Survey
from robodx.output import visible
from robodx.terminal.console import counted, table_lines, wrapped

# The rest is in the JSON.
SHOWN_TEXTS = 10


def lines(found: Survey) -> Iterator[str]:
    """Each of them one line, whatever names and texts the data set has."""
    return map(visible, _lines(found))


def episode_lines(found: EpisodeSurvey, hz: float | None) -> Iterator[str]:
    return map(visible, _episode_lines(found, hz))


def _lines(found: Survey) -> Iterator[str]:
    yield f"{found.path}: {found.format}, robot {found.robot}"
    rate = "steps per second not recorded" if found.hz is None else f"{found.hz:g} Hz, {_duration(found.hours)}"
    yield f"  {counted(found.episodes, 'episode')}, {counted(found.frames, 'frame')}, {rate}"
    cameras = ", ".join(f"{name} {height}×{width}" for name, (height, width) in found.cameras.items())
    yield f"  cameras (height×width): {cameras or 'none'}"
    yield f"  solved: {_share(found)}"
    for name, value in found.about.items():
        yield from wrapped(visible(f"  {name}: {value}"), indent="    ")
    if found.episodes_read < found.episodes:
        yield ""
        yield f"What follows is told from {found.episodes_read} of the {found.episodes} episodes."
    yield from _counts("instruction", found.instructions)
    yield from _counts("task", found.tasks)
    yield ""
    of_state = [_row(f"state {one.vector}", one) for one in found.state]
    yield from table_lines([*(_row("action", one) for one in found.action), *of_state])
    if found.card:
        yield ""
        yield from (f"  {line}" for line in found.card)


def _episode_lines(found: EpisodeSurvey, hz: float | None) -> Iterator[str]:
    time = "" if hz is None else f", {found.steps / hz:.1f} s"
    ended = {True: "solved", False: "not solved", None: "whether it was solved is not recorded"}[found.is_solved]
    yield ""
    yield f"Episode {found.episode}: {counted(found.steps, 'step')}{time}, {ended}"
    for step, text in found.instructions.items():
        yield f'  from step {step}: "{text}"' if text else f"  from step {step}: no instruction"
    for name, value in found.metadata.items():
        yield f"  {name}: {value}"


def _share(found: Survey) -> str:
    if found.success is None:
        return "not recorded"
    return f"{found.success:.1%} of {counted(found.episodes_read, 'episode')}"


def _duration(hours: float | None) -> str:
    if hours is None:
        return ""
    return f"{hours:.1f} hours" if hours >= 1 else f"{60 * hours:.1f} minutes"


def _counts(what: str, found: Mapping[str, int]) -> Iterator[str]:
    yield ""
    if not found:
        yield f"No {what}s."
        return
    yield f"{counted(len(found), what)}:"
    yield from (f"  {count:5}  {text}" for text, count in list(found.items())[:SHOWN_TEXTS])
    if len(found) > SHOWN_TEXTS:
        yield f"         and {len(found) - SHOWN_TEXTS} more"


def _row(of: str, one: Range) -> dict[str, object]:
    return {"of": of, "name": one.name, "min": _number(one.least), "mean": _number(one.mean), "max": _number(one.most)}


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"

"""What the Tab key offers: names of tasks, policies, suites and presets, without loading what they name.

The registries take a second to fill, and Tab must not: the names that ship are kept in names.json, which
`make vocabulary` writes and a test compares with the registries. Names of plugins are not offered.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

NAMES = Path(__file__).with_name("names.json")


def task_names(incomplete: str) -> list[str]:
    return _beginning(incomplete, _shipped()["tasks"])


def selector_names(incomplete: str) -> list[str]:
    """What `robodx run` takes. Tasks of a family are offered when its name is there: of all there are very many."""
    names = _shipped()
    tasks = names["tasks"] if "/" in incomplete else []
    return _beginning(incomplete, [*names["suites"], *names["families"], *tasks])


def policy_names(incomplete: str) -> list[str]:
    return _beginning(incomplete, _shipped()["policies"])


def stressor_names(incomplete: str) -> list[str]:
    return _beginning(incomplete, _shipped()["stressors"])


def preset_names(incomplete: str) -> list[str]:
    """Those that ship, and files and folders as any shell would offer them."""
    return _beginning(incomplete, _shipped()["presets"]) + _files(incomplete, ".toml")


def one_of(*words: str) -> Callable[[str], list[str]]:
    def offered(incomplete: str) -> list[str]:
        return _beginning(incomplete, words)

    return offered


def _shipped() -> dict[str, list[str]]:
    names: dict[str, list[str]] = json.loads(NAMES.read_text())
    return names


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    return sorted(name for name in names if name.startswith(incomplete))


def _files(incomplete: str, ending: str) -> list[str]:
    folder, _, beginning = incomplete.rpartition("/")
    place = Path(f"{folder}/" if "/" in incomplete else ".")
    found = [path for path in place.iterdir() if path.name.startswith(beginning)] if place.is_dir() else []
    before = f"{folder}/" if "/" in incomplete else ""
    return sorted(
        f"{before}{path.name}{'/' if path.is_dir() else ''}"
        for path in found
        if (path.is_dir() or path.suffix == ending) and (beginning or not path.name.startswith("."))
    )

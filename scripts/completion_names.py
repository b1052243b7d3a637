"""Write the names that the Tab key offers, from the registries: src/robodx/cli/names.json."""

from __future__ import annotations

import json

from robodx.cli.completing import NAMES
from robodx.perturbations.base import PERTURBATIONS
from robodx.policy_contract import POLICIES
from robodx.suites.base import SUITES
from robodx.tasks.base import TASKS
from robodx.wires.preset_files import shipped as presets


def shipped() -> dict[str, list[str]]:
    tasks = TASKS.entries()
    tiers = {f"{task.family}/{task.tier}" for task in tasks if task.tier}
    return {
        "families": sorted({task.family for task in tasks} | tiers),
        "policies": list(POLICIES),
        "presets": presets(),
        "stressors": [entry.name for entry in PERTURBATIONS.entries() if entry.is_stressor],
        "suites": list(SUITES),
        "tasks": list(TASKS),
    }


def main() -> None:
    NAMES.write_text(json.dumps(shipped(), indent=1) + "\n")
    print(f"Wrote {NAMES}")


if __name__ == "__main__":
    main()

"""Checks that no episode moves by a bit: runs many trials and compares them with tests/golden/same-bits.txt.

`make same-bits` runs it, and `--write` writes the file. Finished units are kept in runs/same-bits, by the source they
were made with, and so are their run folders: `robodx diff` compares those of two sources.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from pages import of_this_source
from units import at_work, keep, kept

from robodx.running.threads import pin

pin()  # before anything imports numpy, as every run does

import mujoco  # noqa: E402
import numpy as np  # noqa: E402
from probe_table import in_a_thread  # noqa: E402

import robodx  # noqa: E402
from robodx.faults.base import FAULTS  # noqa: E402
from robodx.interventions.base import INTERVENTIONS, PLACEBO, NotApplicable, intervened  # noqa: E402
from robodx.perturbations.base import PERTURBATIONS  # noqa: E402
from robodx.policy_contract import opened  # noqa: E402
from robodx.records.about import read_about  # noqa: E402
from robodx.records.design import Planned  # noqa: E402
from robodx.records.table import load  # noqa: E402
from robodx.records.trajectory_files import trajectory_file  # noqa: E402
from robodx.records.trial import Trial  # noqa: E402
from robodx.records.values import Applied, as_option  # noqa: E402
from robodx.records.versions import versions  # noqa: E402
from robodx.running.request import Request  # noqa: E402
from robodx.running.run import run  # noqa: E402
from robodx.running.why import failed_trials, why  # noqa: E402
from robodx.sim import gl  # noqa: E402
from robodx.tasks.base import TASKS  # noqa: E402
from robodx.terminal.console import print_table  # noqa: E402
from robodx.wires.serving import Endpoint  # noqa: E402

ROOT = Path(__file__).parent.parent
MANIFEST = ROOT / "tests" / "golden" / "same-bits.txt"

# The seeds of each part.
PARTS = {
    "expert": 3,
    "faults": 3,
    "stressors": 3,
    "interventions": 3,
    "realtime": 3,
    "open_loop": 3,
    "others": 3,
    "why": 3,
    "suites": 3,
    "served": 3,
    "flow": 3,
    "vision": 3,
    "act": 3,
}
LEARNED = ("act", "act_no_language", "flow")
# Of a row of the table of episodes, all that no clock measured.
TOLD = (
    "pair_id", "family", "tier", "tags", "robot", "policy", "clock", "outcome", "success", "error", "failure_kind",
    "failure_type", "failure_evidence", "quality_flags", "chance", "primitive", "progress", "stages", "stages_reached",
    "stage_steps", "steps", "instructions", "events", "first_touched", "requirements", "target", "attributes",
    "mistaken", "trajectory_hash", "duration_s", "path_length_m", "length_ratio", "mean_squared_jerk", "sparc",
    "stability", "slips", "drops", "collisions", "peak_collision_n", "limit_steps", "joint_limit_s", "queries",
    "perturbed_queries", "perturbed_steps",
)  # fmt: skip
# Of a trajectory, what a clock measured: only how many there are, and of which type, is compared.
MEASURED = ("inference_s",)
SHOWN = 20

FAULT_TASKS = (
    "tasks/control/stack_cube",
    "tasks/language/conditional",
    "tasks/dynamic/pick_sliding_cube",
    "tasks/robustness/place_sphere_with_distractors",
)
STRESS_TASKS = ("tasks/carrier/put_in", "tasks/control/stack_cube")
REALTIME_TASKS = ("tasks/pursuit", "tasks/dynamic/pick_sliding_cube")
# An intervention is applied in the first of these tasks in which it can be.
INTERVENED = (
    "carrier/put_in", "language/direct", "control/stack_cube", "spatial/pick_leftmost", "language/conditional",
    "language/exclusion", "language/ordinal", "dynamic/catch_after_light", "adaptability/pick_other_cube",
    "spatial/build_tower", "perception/touch_bigger_sphere", "pursuit/pick_from_slow_belt", "bias/put_solid_in_box",
    "robustness/place_sphere_with_distractors", "generated/factorial", "control/place_sphere_three_bins",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """What one policy is asked, at any seed."""

    part: str
    name: str
    policy: str
    selectors: tuple[str, ...] = ()
    perturbations: tuple[Applied, ...] = ()
    clock: str = "lockstep"
    batch: int = 1
    intervention: str | None = None
    # Whether its failures are asked why.
    is_asked_why: bool = False
    # Whether it is served over a wire; "replay" is the policy that replays the expert.
    is_served: bool = False

    @property
    def is_learned(self) -> bool:
        return self.policy.rpartition(":")[2] in LEARNED


@dataclass(frozen=True)
class Unit:
    """What one worker does at once."""

    case: Case
    seed: int

    @property
    def name(self) -> str:
        return f"{self.case.part}: {self.case.name}, seed {self.seed}"

    @property
    def key(self) -> str:
        """Changes with the declaration."""
        return _digest([repr(self).encode()], 8)


class Bits(NamedTuple):
    """Of one trial: its id, digests of its trajectory and of what is recorded of it, and how it ended, to be read."""

    id: str
    motion: str
    record: str
    outcome: str


@dataclass(frozen=True)
class Section:
    """The trials of a unit, by what is done in them; and what else they need to be the same elsewhere."""

    needs: tuple[str, ...]
    bits: Mapping[str, Bits]


@dataclass(frozen=True)
class Manifest:
    facts: Mapping[str, str]
    sections: Mapping[str, Section]


def cases() -> list[Case]:
    """All that is run, in the order of the parts."""
    families = list(dict.fromkeys(task.family for task in TASKS.entries()))
    found = [
        Case(policy, f"{policy} {family}", policy, (f"tasks/{family}",))
        for policy in ("expert", "vision", "act")
        for family in families
    ]
    found += [Case("faults", name, f"fault:{name}", FAULT_TASKS) for name in FAULTS]
    for entry in PERTURBATIONS.entries():
        if entry.kind != "substitution":
            level = list(entry.levels)[len(entry.levels) // 2]
            # Who sees and reads, where that is perturbed.
            policy = "expert" if entry.kind == "execution" else "vision"
            named = f"{policy} {entry.name}={level}"
            found.append(Case("stressors", named, policy, STRESS_TASKS, ((entry.name, entry.levels[level]),)))
    found.append(Case("stressors", "expert other_words=on", "expert", STRESS_TASKS, (("other_words", 1.0),)))
    found += [Case("interventions", name, "expert", intervention=name) for name in INTERVENTIONS]
    found += [
        Case("realtime", f"{policy} realtime:0.1", policy, REALTIME_TASKS, clock="realtime:0.1")
        for policy in ("expert", "fault:slow", "vision", "act")
    ]
    found += [
        Case("open_loop", f"open_loop {family}", "open_loop", (f"tasks/{family}",))
        for family in ("control", "dynamic", "pursuit")
    ]
    found += [
        *(Case("others", policy, policy, ("tasks/carrier",)) for policy in ("random", "still", "guess")),
        *(Case("others", policy, policy, ("tasks/language/exclusion",)) for policy in ("sgl+sim:expert", "sgl:vision")),
        Case("others", "demonstrator", "demonstrator:front@64", ("tasks/carrier/put_in",)),
        Case("others", "act_no_language", "act_no_language", ("tasks/primitive",)),
        Case("others", "expert in batches", "expert", ("tasks/carrier", "tasks/perception"), batch=4),
        Case("others", "act in batches", "act", ("tasks/carrier",), batch=4),
    ]  # fmt: skip
    asked = partial(Case, "why", is_asked_why=True)
    found += [
        asked("undershoots", "fault:undershoots", ("tasks/primitive/pick_cube",)),
        asked("releases_early", "fault:releases_early", ("tasks/control/stack_cube",)),
        asked("colour_blind", "fault:colour_blind", ("tasks/language/direct", "tasks/perception/touch_red_sphere")),
        asked("ignores_negation", "fault:ignores_negation", ("tasks/language/negation", "tasks/language/exclusion")),
        asked("slow", "fault:slow", ("tasks/pursuit/pick_from_slow_belt",), clock="realtime:measured"),
        asked(
            "vision", "vision", ("tasks/primitive/pick_cube",),
            perturbations=(("calibration_offset", PERTURBATIONS["calibration_offset"].levels["v3"]),),
        ),
        asked("act", "act", ("tasks/carrier/move_near", "tasks/carrier/put_in")),
    ]  # fmt: skip
    found += [
        Case("suites", f"{policy} {selector}", policy, (selector,))
        for policy, selector in (
            ("expert", "metamorphic/put_in"),
            ("expert", "metamorphic/move_near"),
            ("vision", "metamorphic/pick_up/MR3/MR8/MR9"),
            ("expert", "bias/colour/tan"),
            ("expert", "bias/camera_pose/quick"),
            ("act", "bias/colour/tan"),
            ("expert", "stress/packet_loss/v2"),
            ("vision", "stress/noise/v2"),
            ("expert", "null_inputs/language/direct"),
            ("expert", "capability/primitive"),
            ("expert", "isolation/control"),
        )
    ]
    found += [
        Case("served", f"{name} in {space}", policy, selectors, is_served=True)
        for name, space, policy, selectors in (
            ("the expert's commands", "joint", "replay", ("tasks/carrier", "tasks/primitive")),
            ("vision", "ee_pose", "vision", ("tasks/carrier",)),
            ("act", "ee_pose", "act", ("tasks/primitive",)),
            ("random", "ee_delta", "random", ("tasks/carrier",)),
            ("still", "ee_delta", "still", ("tasks/primitive",)),
        )
    ]
    found += [Case("flow", f"flow {family}", "flow", (f"tasks/{family}",)) for family in ("carrier", "primitive")]
    return sorted(found, key=lambda case: list(PARTS).index(case.part))


def units(parts: Sequence[str] = tuple(PARTS), seeds: int = max(PARTS.values())) -> list[Unit]:
    """The first seed of everything comes first."""
    return [
        Unit(case, seed) for seed in range(seeds) for case in cases() if case.part in parts and seed < PARTS[case.part]
    ]


def section(unit: Unit, out: Path) -> Section:
    """Run a unit's trials into a folder of its own, or go on with them."""
    folder = out / unit.case.part / unit.key
    with _policy(unit, folder) as (policy, name):
        _run(unit, folder, policy, name)
    found: dict[str, Bits] = {}
    for run_folder in (folder, folder / "why"):
        for what, bits in _bits_of(run_folder) if run_folder.exists() else ():
            if found.setdefault(what, bits) != bits:
                raise LookupError(f"two trials are both told as {what}")
    cameras = read_about(folder, needs=("policy_spec.cameras",))["policy_spec"]["cameras"]
    return Section(("pictures",) * bool(cameras) + ("networks",) * unit.case.is_learned, found)


@contextmanager
def _policy(unit: Unit, folder: Path) -> Iterator[tuple[str, str | None]]:
    """How the policy is made, and its name where that says it better."""
    if not unit.case.is_served:
        yield unit.case.policy, None
        return
    inner = unit.case.policy
    if inner == "replay":
        recorded = folder.with_name(f"{folder.name}-recorded")
        run(Request(unit.case.selectors, "expert", 1, first_seed=unit.seed), recorded)
        inner = f"replay:{recorded}"
    with opened(inner) as policy, in_a_thread(Endpoint(policy)) as port:
        yield f"openpi://127.0.0.1:{port}", f"served {unit.case.policy}"


def _run(unit: Unit, folder: Path, policy: str, name: str | None) -> None:
    case = unit.case
    request = Request(
        case.selectors, policy, 1, first_seed=unit.seed, perturbations=case.perturbations, clock=case.clock,
        batch=case.batch, name=name,
    )  # fmt: skip
    planned = None
    if case.intervention is not None:
        planned = [Planned(trial, "intervened") for trial in _intervened(case.intervention, case.policy, unit.seed)]
        if not planned:
            raise LookupError(f"{case.intervention} applies to none of the tasks: name another one in INTERVENED")
    run(request, folder, planned=planned)
    if case.is_asked_why and failed_trials(folder):
        why(folder, out=folder / "why", episodes=2)


def _intervened(name: str, policy: str, seed: int) -> list[Trial]:
    """With the first value that applies anywhere, and with the placebo."""
    entry = INTERVENTIONS[name]
    for task in INTERVENED:
        situation = TASKS[task].placed(seed)
        found: list[Trial] = []
        for value in (*entry.values, PLACEBO):
            if found and value != PLACEBO:
                continue
            try:
                intervened(situation, ((name, value),), seed, task)
            except NotApplicable:
                continue
            found.append(Trial(task, TASKS[task].version, policy, seed, interventions=((name, value),)))
        if found and found[0].interventions[0][1] != PLACEBO:
            return found
    return []


def _bits_of(run: Path) -> Iterator[tuple[str, Bits]]:
    for row in load(run).iter_rows(named=True):
        trial = Trial.of_row(row)
        words = [trial.task, f"{trial.seed}.{trial.repeat}" if trial.repeat else str(trial.seed)]
        words += [as_option(*applied) for applied in (*trial.perturbations, *trial.interventions)]
        words += [trial.clock] if trial.clock != "lockstep" else []
        progress = "" if row["progress"] is None else f" {row['progress']:.3f}"
        motion = _motion(trajectory_file(run, row["trial_id"]))
        yield " ".join(words), Bits(row["trial_id"], motion, _record(row), row["outcome"] + progress)


def _motion(path: Path) -> str:
    """Of all stored arrays: their names, types, shapes and bytes."""
    if not path.exists():
        return "-"
    parts = []
    with np.load(path, allow_pickle=False) as arrays:
        for name in sorted(arrays):
            array = np.ascontiguousarray(arrays[name])
            parts.append(f"{name} {array.dtype.str} {array.shape}".encode())
            if name not in MEASURED:
                parts.append(array.tobytes())
    return _digest(parts, 8)


def _record(row: Mapping[str, Any]) -> str:
    told = {name: row.get(name) for name in TOLD}
    if row["outcome"] == "error":
        # Above it are places in the source.
        told["error"] = "".join((row["error"] or "").strip().splitlines()[-1:])
    return _digest([json.dumps(told, sort_keys=True).encode()], 4)


def _digest(parts: Sequence[bytes], size: int) -> str:
    digest = hashlib.blake2b(digest_size=size)
    for part in parts:
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()


def facts() -> dict[str, str]:
    """What bits depend on here beside the source."""
    known = versions(gl_renderer=gl.status().renderer)
    config: Any = np.show_config(mode="dicts")
    return {
        **{name: str(known[name]) for name in ("source", "python", "mujoco", "numpy")},
        "scipy": version("scipy"),
        "arithmetic": arithmetic(),
        "onnxruntime": version("onnxruntime"),
        "instructions": " ".join(config.get("SIMD Extensions", {}).get("found", [])),
        "gl_renderer": str(known["gl_renderer"]),
    }


FALLING = """
<mujoco><worldbody><geom type="plane" size="1 1 .1"/>
<body pos="0 0 .3"><freejoint/><geom type="box" size=".03 .02 .04" euler="20 30 10"/></body>
<body pos=".01 0 .5"><freejoint/><geom type="capsule" size=".02 .05" euler="70 0 0"/></body>
</worldbody></mujoco>"""


def arithmetic() -> str:
    """A digest of what this processor computes, with no code of ours: others may round otherwise."""
    x = np.random.Generator(np.random.PCG64(0)).normal(size=(48, 48))
    results: list[Any] = [
        x @ x,
        np.linalg.svd(x)[1],
        np.linalg.solve(x, x[0]),
        np.linalg.inv(x),
        np.exp(x),
        np.sin(x),
        np.cos(x),
    ]
    results += [np.arctan2(x, x.T), np.sum(x), np.linalg.norm(x, axis=0), x[:4, :4] @ x[:4, 0], np.sqrt(np.abs(x))]
    single = x.astype(np.float32)
    results += [single @ single, np.exp(single), np.tanh(single)]
    model = mujoco.MjModel.from_xml_string(FALLING)
    data = mujoco.MjData(model)
    for _ in range(600):
        mujoco.mj_step(model, data)
    results.append(data.qpos)
    return _digest([np.ascontiguousarray(one).tobytes() for one in results], 8)


# What must be the same for bits to be comparable: of all trials, and of those that need more.
EVERY = ("mujoco", "numpy", "scipy", "arithmetic")
FURTHER = {"pictures": ("gl_renderer",), "networks": ("onnxruntime", "instructions")}


def hindrance(section: Section, then: Mapping[str, str], here: Mapping[str, str]) -> str | None:
    """Why a section's bits cannot be compared on this machine; None if they can."""
    names = (*EVERY, *(name for need in section.needs for name in FURTHER[need]))
    other = [name for name in names if then.get(name) != here.get(name)]
    return "; ".join(f"{name} was {then.get(name)} and is {here.get(name)}" for name in other) or None


def differences(expected: Mapping[str, Bits], found: Mapping[str, Bits]) -> dict[str, str]:
    """Of each trial that is not the same, what differs."""
    told = {}
    for what, before in sorted(expected.items()):
        after = found.get(what)
        if after is None:
            told[what] = "missing"
        elif after != before:
            parts = [name for name in ("id", "motion", "record") if getattr(before, name) != getattr(after, name)]
            parts += [f"outcome {before.outcome} → {after.outcome}"] if before.outcome != after.outcome else []
            told[what] = ", ".join(parts)
    return told | {what: "new" for what in sorted(set(found) - set(expected))}


HEAD = """\
# Digests of episodes, which no change of structure may change: see scripts/same_bits.py, which wrote this.
# Each line: trial id, digest of the trajectory, digest of the record, outcome and progress, what is done.
"""


def write(manifest: Manifest, path: Path = MANIFEST) -> None:
    lines = [f"{name}: {value}" for name, value in manifest.facts.items()]
    for name, section in sorted(manifest.sections.items()):
        lines += ["", f"[{name}] {' '.join(section.needs)}".rstrip()]
        lines += ["\t".join((*bits, what)) for what, bits in sorted(section.bits.items())]
    path.write_text(HEAD + "\n".join(lines) + "\n")


def read(path: Path = MANIFEST) -> Manifest:
    facts: dict[str, str] = {}
    sections: dict[str, Section] = {}
    bits: dict[str, Bits] = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        if line.startswith("["):
            name, _, needs = line[1:].rpartition("]")
            bits = {}
            sections[name] = Section(tuple(needs.split()), bits)
        elif "\t" in line:
            *fields, what = line.split("\t")
            bits[what] = Bits(*fields)
        elif line and not line.startswith("#"):
            fact, _, value = line.partition(": ")
            facts[fact] = value
    return Manifest(facts, sections)


def result(unit: Unit, out: Path) -> list[dict[str, Any]]:
    """As it is kept; an error is told, and not kept."""
    try:
        return [{"unit": unit.key, "name": unit.name, **asdict(section(unit, out))}]
    except Exception:
        print(f"{unit.name} failed:\n{traceback.format_exc()}", file=sys.stderr, flush=True)
        return []


def folder_of(out: Path, here: Mapping[str, str]) -> Path:
    """Where results of this source are kept, with its weights and presets, on what computes and draws alike."""
    package = Path(robodx.__file__).parent
    data = [path for path in sorted(package.rglob("*")) if path.is_file() and path.suffix not in (".py", ".pyc")]
    parts = [repr(sorted(here.items())).encode(), *(path.read_bytes() for path in data)]
    return of_this_source(out) / _digest(parts, 4)


def sections_of(wanted: Sequence[Unit], out: Path, workers: int) -> dict[str, Section]:
    """By the names of units; those that failed are not among them."""
    path = out / "units.jsonl"
    done = {row["unit"] for row in kept(path)}
    missing = [unit for unit in wanted if unit.key not in done]
    if missing:
        keep(path, at_work(missing, partial(result, out=out), workers))
    names = {unit.key: unit.name for unit in wanted}
    return {
        names[row["unit"]]: Section(tuple(row["needs"]), {what: Bits(*bits) for what, bits in row["bits"].items()})
        for row in kept(path)
        if row["unit"] in names
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--seeds", type=int, default=max(PARTS.values()), help="of each part, as far as it has so many")
    parser.add_argument("--write", action="store_true", help="write what is found, and keep all other parts and seeds")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "same-bits")
    options = parser.parse_args()
    started_s = time.monotonic()
    here, before = facts(), read()
    wanted = units(options.only, options.seeds)
    if not options.write:
        wanted = comparable(wanted, before, here)
    found = sections_of(wanted, folder_of(options.out.absolute(), here), options.workers)
    gone = vanished(before, options.only, options.seeds)
    wrong = compare(wanted, before, found, gone)
    print(f"{len(wanted)} units in {(time.monotonic() - started_s) / 60:.1f} minutes")
    if not options.write:
        if not wanted:
            print("Nothing was compared.")
        return int(wrong or not wanted)
    rewrite(read(), found, here)
    return int(len(found) < len(wanted))


def vanished(before: Manifest, parts: Sequence[str], seeds: int) -> list[str]:
    """Sections of the manifest that nothing is run for any more, as of a task or a fault that is gone."""
    names = {unit.name for unit in units()}
    asked = {name: name.partition(":")[0] in parts and int(name.rpartition(" ")[2]) < seeds for name in before.sections}
    return [name for name, is_asked in asked.items() if is_asked and name not in names]


def comparable(wanted: Sequence[Unit], before: Manifest, here: Mapping[str, str]) -> list[Unit]:
    """The units that can be compared here; it is said which cannot, and why."""
    able = []
    unable: dict[str, Counter[str]] = {}
    for unit in wanted:
        known = before.sections.get(unit.name)
        reason = "not in the manifest" if known is None else hindrance(known, before.facts, here)
        if reason is None:
            able.append(unit)
        else:
            what = f"{unit.case.part}, seed {unit.seed}"
            unable.setdefault(reason, Counter())[what] += 1 if known is None else len(known.bits)
    for reason, counts in unable.items():
        noun = "units" if reason == "not in the manifest" else "trials"
        print(f"Not comparable here, {sum(counts.values())} {noun} ({reason}):")
        print("".join(f"  {what}: {count}\n" for what, count in counts.items()), end="", flush=True)
    return able


def compare(wanted: Sequence[Unit], before: Manifest, found: Mapping[str, Section], gone: Sequence[str] = ()) -> bool:
    """Print a row for each part, and the first trials that differ, with their run folders; whether any does."""
    counts: dict[str, Counter[str]] = {}
    told = [f"{name}: nothing is run for it any more" for name in gone]
    for name in gone:
        counts.setdefault(name.partition(":")[0], Counter())["missing"] += len(before.sections[name].bits)
    nothing = Section((), {})
    for unit in wanted:
        expected, now = before.sections.get(unit.name, nothing).bits, found.get(unit.name, nothing).bits
        differing = differences(expected, now)
        if unit.name in before.sections:
            where = f"({unit.case.part}/{unit.key})"
            told += [f"{unit.name}: {what}: {how} {where}" for what, how in differing.items()]
        count = counts.setdefault(unit.case.part, Counter())
        count["trials"] += len(now)
        count["same"] += len(set(expected) & set(now) - set(differing))
        for how in differing.values():
            count[how if how in ("missing", "new") else "different"] += 1
    columns = ("trials", "same", "different", "missing", "new")
    total = sum(counts.values(), Counter[str]())
    rows = [(part, counts[part]) for part in PARTS if part in counts]
    print_table(
        [
            {"part": part, **{column: str(count[column]) for column in columns}}
            for part, count in (*rows, ("all", total))
        ]
    )
    print("".join(f"{line}\n" for line in told[:SHOWN]), end="")
    if len(told) > SHOWN:
        print(f"… and {len(told) - SHOWN} more")
    return bool(told)


def rewrite(before: Manifest, found: Mapping[str, Section], here: Mapping[str, str]) -> None:
    names = {unit.name for unit in units()}
    others = {name: section for name, section in before.sections.items() if name not in found and name in names}
    stay = {name: section for name, section in others.items() if hindrance(section, before.facts, here) is None}
    if len(stay) < len(others):
        print(f"{len(others) - len(stay)} units of the manifest were made elsewhere, and are left out: run them too.")
    sources = dict.fromkeys([*(before.facts["source"].split() if stay else ()), here["source"]])
    write(Manifest({**here, "source": " ".join(sources)}, {**stay, **found}))
    print(f"{MANIFEST.relative_to(ROOT)}: {sum(len(one.bits) for one in (stay | dict(found)).values())} trials")


if __name__ == "__main__":
    sys.exit(main())

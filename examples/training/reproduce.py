"""All that the shipped weights come from: demonstrations, three trainings, ONNX files; in stages or all at once.

    python examples/training/reproduce.py all --work work --workers 16 --scale 0.85 --compile

Every stage goes on where it was cut off. Under WORK: data/ (demonstrations), runs/ (checkpoints, log.csv, loss.svg) and
weights/ (ONNX). Where there is no package for ONNX, `export` says so; run it elsewhere on runs/*/average.pt.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).resolve().parent
FIRST_SEED = 1_000_000
CAMERAS, HZ, DISTURB_M = "front@128,wrist@96", 10, 0.006
# Every group of tasks is made in so many parts, each by a process of its own, whatever number of them runs at a time.
PARTS = 16
# Families most of whose tasks cannot be told apart without words, on which `act_no_language` is not trained.
WORDY = ("language", "spatial", "generated", "carrier", "bias")
STAGES = ("generate", "act", "no_language", "flow", "rest", "scaling", "export", "all")


@dataclass(frozen=True)
class Group:
    """Tasks of which there are equally many demonstrations."""

    name: str
    selectors: tuple[str, ...]
    # Of each task in each part.
    episodes: int


FAMILIES = ("adaptability", "control", "dynamic", "language", "perception", "pursuit", "spatial")
GROUPS = (
    # Long ones first, so that all processes end together.
    Group("hard", tuple(f"{family}/hard" for family in FAMILIES), 6),
    Group("medium", tuple(f"{family}/medium" for family in FAMILIES), 10),
    Group("easy", (*(f"{family}/easy" for family in FAMILIES), "primitive"), 22),
    Group("generated", ("generated",), 60),
    Group("carrier", ("carrier", "bias"), 6),
)


@dataclass(frozen=True)
class Training:
    """One network: what train.py is told, and for how long."""

    name: str
    network: str
    minutes: float
    more: tuple[str, ...] = ()


def main(words: Sequence[str] | None = None) -> None:
    options = _options(words)
    work: Path = options.work
    trainings = {
        "act": Training("act", "act", options.act_minutes),
        "no_language": Training(
            "act_no_language", "act_no_language", options.no_language_minutes, ("--without", *WORDY)
        ),
        "flow": Training("flow", "flow", options.flow_minutes, ("--act", str(work / "runs" / "act" / "average.pt"))),
    }
    stages: dict[str, list[str]] = {"rest": ["no_language+flow"], "all": ["generate", "act", "no_language+flow"]}
    for stage in stages.get(options.stage, [options.stage]):
        if stage == "generate":
            generate(work, options.workers, options.scale, ["--random-rooms"] if options.random_rooms else [])
        elif stage == "scaling":
            # As many steps each, on a tenth and a third of the episodes, and on all.
            for share in options.shares:
                one = Training(f"act_share_{share:g}", "act", 0.0, ("--share", str(share)))
                train([one], options, ("--steps", str(options.scaling_steps), "--keep", "1"))
        elif stage != "export":
            train([trainings[name] for name in stage.split("+")], options, ("--keep", str(options.keep)))
    if options.stage in ("export", "all"):
        export(work)


def _options(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stage", choices=STAGES, help="rest: act_no_language and flow at the same time")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--workers", type=int, default=2, help="processes that make demonstrations")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the demonstrations to make, one at least")
    parser.add_argument("--random-rooms", action="store_true", help="half of the demonstrations in random rooms")
    parser.add_argument("--act-minutes", type=float, default=8.5)
    parser.add_argument("--no-language-minutes", type=float, default=4.0)
    parser.add_argument("--flow-minutes", type=float, default=4.0)
    parser.add_argument("--keep", type=int, default=5, help="checkpoints to keep of each training")
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--compile", action="store_true", help="compile the networks")
    parser.add_argument("--shares", type=float, nargs="+", default=[0.1, 0.3, 1.0], help="of episodes, for scaling")
    parser.add_argument("--scaling-steps", type=int, default=3000)
    return parser.parse_args(words)


# Demonstrations.


def generate(work: Path, workers: int, scale: float, more: Sequence[str] = ()) -> None:
    """All parts of all groups, a few at a time; what is there is left as it is."""
    if not 0 < scale <= 1:
        raise SystemExit(f"--scale is above 0 and at most 1, not {scale:g}")
    begun = time.monotonic()
    data = work / "data"
    data.mkdir(parents=True, exist_ok=True)
    if other := [path.name for path in _made(data) if _has_random_rooms(path) != ("--random-rooms" in more)]:
        raise SystemExit(f"{data / other[0]} was made with other rooms: choose another --work, or remove it")
    jobs = [(group, part) for group in GROUPS for part in range(max(round(PARTS * scale), 1))]
    # Below one part of each group there are fewer episodes in it.
    within = min(PARTS * scale, 1.0)
    with ThreadPoolExecutor(workers) as pool:
        going = [pool.submit(_generate_part, data, group, part, within, more) for group, part in jobs]
        failed = []
        try:
            for done, (one, (group, part)) in enumerate(zip(going, jobs, strict=True), 1):
                if not one.result():
                    failed.append(f"{group.name}_{part:02}")
                if done % 8 == 0 or done == len(jobs):
                    told = f"{_frames(data)} frames, {(time.monotonic() - begun) / 60:.1f} min"
                    print(f"generated {done} of {len(jobs)} parts, {told}", flush=True)
        except BaseException:
            # Interrupted: what has begun keeps its episodes, and nothing else begins.
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    if failed:
        raise SystemExit(f"these parts could not be made, see {data}/NAME.log: {', '.join(failed)}")


def _generate_part(data: Path, group: Group, part: int, within: float, more: Sequence[str]) -> bool:
    out = data / f"{group.name}_{part:02}"
    command = [*_ROBODX, "generate", *generate_words(group, part, within, out), *more]
    # The second time goes on where the first stopped, as where one episode ended in an error.
    for _ in range(2):
        if out.exists():
            return True
        with (data / f"{out.name}.log").open("a") as log:
            subprocess.run(command, stdout=log, stderr=log, check=False)
    return out.exists()


def generate_words(group: Group, part: int, within: float, out: Path) -> list[str]:
    """What `robodx generate` is called with for one part of a group."""
    # fmt: off
    return [
        # Of the suite `tasks`: some families have the name of another suite.
        *(f"tasks/{one}" for one in group.selectors), "--episodes", str(max(round(group.episodes * within), 1)),
        "--first-seed", str(FIRST_SEED + part * group.episodes), "--hz", str(HZ), "--disturb", str(DISTURB_M),
        "--cameras", CAMERAS, "--format", "decoded", "--plugin", str(HERE / "decoded.py"), "--out", str(out),
    ]
    # fmt: on


_ROBODX = (sys.executable, "-c", "from robodx.cli import main; main()")


def _made(data: Path) -> list[Path]:
    return sorted(path.parent for path in data.glob("*/about.json"))


def _has_random_rooms(folder: Path) -> bool:
    about = json.loads((folder / "about.json").read_text())["features"]["about"]
    return bool(about.get("has_random_rooms", False))


def _frames(data: Path) -> int:
    abouts = [json.loads((folder / "about.json").read_text()) for folder in _made(data)]
    return sum(episode["length"] for about in abouts for episode in about["episodes"])


# Training.


def train(trainings: Sequence[Training], options: argparse.Namespace, more: Sequence[str]) -> None:
    """At the same time, each in a process of its own; their progress lines begin with their names."""
    data = _made(options.work / "data")
    if not data:
        raise SystemExit(f"there are no demonstrations in {options.work / 'data'}: generate them first")
    going = []
    for one in trainings:
        out = options.work / "runs" / one.name
        # fmt: off
        command = [
            sys.executable, str(HERE / "train.py"), "--network", one.network, "--out", str(out),
            "--batch", str(options.batch), *one.more, *more, *(["--minutes", str(one.minutes)] if one.minutes else []),
            *(["--compile"] if options.compile else []), "--data", *map(str, data),
        ]
        # fmt: on
        going.append((one.name, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)))
    with ThreadPoolExecutor(len(going)) as pool:
        list(pool.map(lambda named: _follow(*named), going))
    if failed := [name for name, process in going if process.returncode]:
        raise SystemExit(f"trainings that failed: {', '.join(failed)}")


def _follow(name: str, process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        print(f"{name}: {line.rstrip()}", flush=True)
    process.wait()


# Export.


def export(work: Path) -> None:
    """What is trained, as ONNX; and each kept checkpoint of the act, for the curve of fit against generalisation."""
    if missing := [name for name in ("onnx", "onnxscript") if find_spec(name) is None]:
        print(f"not exported: there is no {' and no '.join(missing)} here; export.py runs/NAME/average.pt does it")
        return
    out = work / "weights"
    out.mkdir(parents=True, exist_ok=True)
    # A flow needs its act's file.
    for name in ("act", "act_no_language", "flow"):
        _export(work / "runs" / name / "average.pt", out / f"{name}.onnx")
    for checkpoint in sorted((work / "runs").glob("act/step_*.pt")):
        _export(checkpoint, out / "act" / f"{checkpoint.stem}.onnx")
    for folder in sorted((work / "runs").glob("act_share_*")):
        _export(folder / "average.pt", out / "shares" / f"{folder.name}.onnx")


def _export(checkpoint: Path, out: Path) -> None:
    if not checkpoint.exists():
        return
    out.parent.mkdir(exist_ok=True)
    subprocess.run([sys.executable, str(HERE / "export.py"), str(checkpoint), str(out)], check=True)


if __name__ == "__main__":
    main()

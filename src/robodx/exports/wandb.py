"""W&B: a run for each policy, with run.json as its config, rates with intervals, a table of episodes, and films."""

from __future__ import annotations

import hashlib
import math
import os
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import polars as pl

from robodx.analysis.statistics.estimates import Estimate
from robodx.analysis.summary import Summary
from robodx.errors import UserError
from robodx.exports.base import Exporter, Item, Source, Wishes, exporter, needed
from robodx.records.flat import flat

PROJECT = "robodx"
# What W&B would tell of this machine, on which the policy need not have run, and of the program that exports.
SETTINGS = {
    "silent": True, "console": "off", "disable_git": True, "disable_code": True, "save_code": False,
    "host": "", "x_disable_stats": True, "x_disable_meta": True, "x_save_requirements": False,
}  # fmt: skip


def plan(source: Source, wishes: Wishes, out: Path) -> Sequence[Item]:
    needed("wandb", "wandb")
    policies = source.episodes["policy"].unique(maintain_order=True).to_list()
    return [_item(_Job(source, policy, wishes), out) for policy in policies]


@dataclass(frozen=True, eq=False)
class _Job:
    """One policy of a run, as a run of W&B."""

    source: Source
    policy: str
    wishes: Wishes

    @property
    def run_id(self) -> str:
        return identity(self.source, self.policy)


def _item(job: _Job, out: Path) -> Item:
    def write(path: Path) -> None:
        scratch = path.with_name(f"{path.name}-scratch")
        scratch.mkdir()
        _in_a_process(job, scratch)
        if job.wishes.is_offline:
            (written,) = (scratch / "wandb").glob(f"offline-run-*-{job.run_id}")
            written.rename(path)

    if not job.wishes.is_offline:
        return Item(None, write)
    there = sorted((out / "wandb").glob(f"offline-run-*-{job.run_id}"))
    name = there[0].name if there else f"offline-run-{time.strftime('%Y%m%d_%H%M%S')}-{job.run_id}"
    return Item(out / "wandb" / name, write, holds=f"run-{job.run_id}.wandb")


def _in_a_process(job: _Job, scratch: Path) -> None:
    """W&B waits for its server as long as it takes, also when it is told to end: a process of its own can be ended."""
    context = get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_serve, args=(theirs, job, scratch), daemon=True)
    process.start()
    theirs.close()
    try:
        refused = ours.recv()
        process.join()
    except EOFError:
        refused = "it ended without a word"
    finally:
        process.kill()
        process.join()
    if refused is not None:
        raise UserError(f"W&B says: {refused} (without a server: --offline)")


def _serve(answers: Connection, job: _Job, scratch: Path) -> None:
    # Ctrl-C reaches this process too; who started it decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        _log(needed("wandb", "wandb"), job, scratch)
    except Exception as error:
        answers.send(" ".join(str(error).split()).rstrip(".") or type(error).__name__)
        # Its own ending would wait for the server.
        os._exit(1)
    answers.send(None)


def identity(source: Source, policy: str) -> str:
    """The same for the same run and policy, so that a second export makes no second run."""
    request = source.about.get("request", {})
    return hashlib.blake2b(f"{source.name}\n{policy}\n{request.get('trials')}".encode(), digest_size=8).hexdigest()


def _log(wandb: Any, job: _Job, scratch: Path) -> None:
    source, wishes = job.source, job.wishes
    episodes = source.episodes.filter(pl.col("policy") == job.policy)
    known = {name: value for name, value in SETTINGS.items() if name in wandb.Settings.model_fields}
    run = wandb.init(
        project=wishes.project or PROJECT, id=job.run_id, name=job.policy, group=source.name, job_type="robodx",
        mode="offline" if wishes.is_offline else "online", dir=str(scratch), config=dict(source.about),
        # Offline nobody can know what is there already. A server never gives the id of a deleted run again, so what is
        # there cannot be replaced: the run goes on.
        resume=None if wishes.is_offline else "allow" if wishes.is_forced else "never",
        settings=wandb.Settings(**known),
    )  # fmt: skip
    table = flat(episodes)
    rows = [list(row) for row in table.rows()]
    run.log({"episodes": wandb.Table(columns=table.columns, data=rows, allow_mixed_types=True)})
    for row in episodes.iter_rows(named=True):
        if film := source.film(row):
            caption = f"{row['task']} seed {row['seed']}: {row['outcome']} ({row['trial_id']})"
            run.log({f"films/{film.stem}": wandb.Video(str(film), caption=caption, format="mp4")})
    run.summary.update(metrics(episodes, source.about))
    run.finish()


def metrics(episodes: pl.DataFrame, about: Mapping[str, Any]) -> dict[str, float | int | None]:
    """Rates from 0 to 1 with the ends of their intervals and n, as the summary of the run tells them."""
    summary = Summary(episodes, about)
    found: dict[str, Estimate] = {"success": summary.headlines()[0].success}
    for by in ("family", "task"):
        found |= {f"{by}/{one.group}/{one.perturbations or 'clean'}": one.success for one in summary.subtotals(by)}
    return dict(_numbers(found)) | {
        "episodes": len(episodes), "errors": int((episodes["outcome"] == "error").sum()),
    }  # fmt: skip


def _numbers(found: Mapping[str, Estimate]) -> Iterator[tuple[str, float | int | None]]:
    for name, one in found.items():
        for part, value in asdict(one).items():
            key = name if part == "value" else f"{name}_{part}"
            yield key, value if value is None or math.isfinite(value) else None


exporter(
    Exporter(
        "wandb",
        "a W&B run for each policy: config, rates with intervals, a table of episodes, films",
        plan,
        ending=".",
        knows=("--offline", "--project"),
    )
)

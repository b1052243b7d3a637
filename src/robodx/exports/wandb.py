"""W&B: a run for each policy, with run.json as its config, rates with intervals, a table of episodes, and films."""

from __future__ import annotations

import hashlib
import math
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl

from robodx.analysis.statistics.estimates import Estimate
from robodx.analysis.summary import Summary
from robodx.errors import UserError
from robodx.exports.base import Exporter, Item, Source, Wishes, exporter, needed
from robodx.records.flat import flat

PROJECT = "robodx"
# Of the table that W&B's page shows; the rest are in a file of the run all the same.
MOST_ROWS = 10_000
# What W&B would tell of this machine, on which the policy need not have run, and of the program that exports.
SETTINGS = {
    "silent": True, "console": "off", "disable_git": True, "disable_code": True, "save_code": False,
    "x_disable_stats": True, "x_disable_meta": True, "x_save_requirements": False,
}  # fmt: skip


def plan(source: Source, wishes: Wishes, out: Path) -> Sequence[Item]:
    wandb = needed("wandb", "wandb")
    policies = source.episodes["policy"].unique(maintain_order=True).to_list()
    return [_item(wandb, source, policy, wishes, out) for policy in policies]


def _item(wandb: Any, source: Source, policy: str, wishes: Wishes, out: Path) -> Item:
    run_id = identity(source, policy)

    def write(path: Path) -> None:
        scratch = path.with_name(f"{path.name}-scratch")
        scratch.mkdir()
        with _said_by(wandb):
            _log(wandb, source, policy, wishes, run_id, scratch)
        if wishes.is_offline:
            (written,) = (scratch / "wandb").glob(f"offline-run-*-{run_id}")
            written.rename(path)
        shutil.rmtree(scratch, ignore_errors=True)

    if not wishes.is_offline:
        return Item(None, write)
    there = sorted((out / "wandb").glob(f"offline-run-*-{run_id}"))
    name = there[0].name if there else f"offline-run-{time.strftime('%Y%m%d_%H%M%S')}-{run_id}"
    return Item(out / "wandb" / name, write, holds=f"run-{run_id}.wandb")


def identity(source: Source, policy: str) -> str:
    """The same for the same run and policy, so that a second export replaces the first and makes no second run."""
    request = source.about.get("request", {})
    return hashlib.blake2b(f"{source.name}\n{policy}\n{request.get('trials')}".encode(), digest_size=8).hexdigest()


def _log(wandb: Any, source: Source, policy: str, wishes: Wishes, run_id: str, scratch: Path) -> None:
    episodes = source.episodes.filter(pl.col("policy") == policy)
    known = {name: value for name, value in SETTINGS.items() if name in wandb.Settings.model_fields}
    run = wandb.init(
        project=wishes.project or PROJECT, id=run_id, name=policy, group=source.name, job_type="robodx",
        mode="offline" if wishes.is_offline else "online", dir=str(scratch), config=dict(source.about),
        # Offline nobody can know what is there already.
        resume=None if wishes.is_offline else "allow" if wishes.is_forced else "never",
        settings=wandb.Settings(**known),
    )  # fmt: skip
    try:
        table = flat(episodes)
        run.log(
            {
                "episodes": wandb.Table(
                    columns=table.columns,
                    data=[list(row) for row in table.head(MOST_ROWS).rows()],
                    allow_mixed_types=True,
                )
            }
        )
        for row in episodes.iter_rows(named=True):
            if film := source.film(row):
                caption = f"{row['task']} seed {row['seed']}: {row['outcome']} ({row['trial_id']})"
                run.log({f"films/{film.stem}": wandb.Video(str(film), caption=caption, format="mp4")})
        run.summary.update(metrics(episodes, source.about))
    except BaseException:
        run.finish(exit_code=1)
        raise
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


@contextmanager
def _said_by(wandb: Any) -> Iterator[None]:
    """What W&B refuses, in one line."""
    try:
        yield
    except (wandb.errors.Error, ValueError) as error:
        raise UserError(f"W&B says: {' '.join(str(error).split())}. Without a server: --offline") from error


exporter(
    Exporter(
        "wandb",
        "a W&B run for each policy: config, rates with intervals, a table of episodes, films",
        plan,
        ending=".",
        knows=("--offline", "--project"),
    )
)

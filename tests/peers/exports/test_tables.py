"""pandas reads the tables."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from robodx.records.table import load
from tests.commands import call


def test_pandas_reads_parquet_with_its_types(run: Path, tmp_path: Path) -> None:
    call("export", run, "--to", "parquet", "-o", "x.parquet", cwd=tmp_path)
    table = pd.read_parquet(tmp_path / "x.parquet")
    assert len(table) == 8 and table["success"].dtype == bool and table["seed"].dtype == "int64"
    # Rates by task are one line.
    assert table.groupby("policy")["success"].mean().to_dict() == {"act": 0.75, "vision": 0.75}
    assert set(table["design.variant"]) == {"clean"} and table["steps"].sum() == load(run)["steps"].sum()


def test_pandas_reads_csv_as_it_reads_parquet(run: Path, tmp_path: Path) -> None:
    for form in ("csv", "parquet"):
        call("export", run, "--to", form, "-o", f"x.{form}", cwd=tmp_path)
    text, typed = pd.read_csv(tmp_path / "x.csv"), pd.read_parquet(tmp_path / "x.parquet")
    assert [*text.columns] == [*typed.columns]
    for name in ("trial_id", "seed", "success", "outcome", "progress", "instructions", "failure_evidence.says"):
        assert text[name].fillna("").tolist() == typed[name].fillna("").tolist(), name

"""Episodes as a flat table: every value is still there, under names that stay."""

from __future__ import annotations

import io
import json
from typing import Any

import polars as pl

from robodx.records.design import Planned, design_table, with_design
from robodx.records.episode import Attributes, Episode, Evidence, InstructionUpdate, Label, Quantity
from robodx.records.flat import flat, to_csv, to_parquet
from robodx.records.table import to_table
from robodx.records.trial import Trial

FIRST, SECOND = Trial("control/lift", 1, "p", 0, suite="stress"), Trial("control/lift", 1, "p", 1, suite="stress")


def episode(trial: Trial, **more: Any) -> Episode:
    return Episode(
        trial_id=trial.id, pair_id="pair", suite="stress", task=trial.task, task_version=1, family="control", tier=None,
        tags=("a", "b"), robot="panda", policy="p", seed=trial.seed, repeat=0, clock="lockstep", attempt=1, wall_s=0.5,
        outcome="failure", **{"perturbations": (("noise", 25.0), ("shift", (("x_m", 0.02),))), **more},
    )  # fmt: skip


def table() -> pl.DataFrame:
    episodes = to_table(
        [
            episode(
                FIRST,
                failure_evidence=Evidence(3, "=cube", "held", "it was dropped"),
                instructions=(InstructionUpdate(0, 'Pick up "it";\nnow'),),
                attributes=Attributes(
                    (Label("side", "left"), Label("same", "word"), Label("same#2", "odd")), (Quantity("same", 2.0),)
                ),
                quantities=(Quantity("grip", -1.5),),
                stage_steps=(4, 9),
            ),
            episode(SECOND, perturbations=()),
        ]
    )
    stressed = Planned(SECOND, "stressed", FIRST, (("noise", 25.0), ("word", "x"), ("flag", True)), "v2")
    return with_design(episodes, design_table([Planned(FIRST), Planned(FIRST, suite="cliff"), stressed]))


def test_no_column_holds_lists_or_structs_and_no_row_is_lost() -> None:
    found = flat(table())
    assert len(found) == 2 and not any(kind.is_nested() for kind in found.dtypes)
    # Plain columns are as they were, in their order.
    assert [name for name in found.columns if name in table().columns] == [
        name for name in table().columns if name not in ("failure_evidence", "target", "attributes", "quantities")
    ]


def test_values_are_found_under_stable_names() -> None:
    first, second = flat(table()).sort("seed").to_dicts()
    assert first["failure_evidence.says"] == "it was dropped" and second["failure_evidence.says"] is None
    assert first["attributes.side"] == "left" and second["attributes.side"] is None
    assert first["attributes.same"] == "word" and first["attributes.same#2#2"] == 2.0
    assert first["quantities.grip"] == -1.5 and first["target.kind"] is None
    assert first["perturbations"] == "noise=25; shift=x_m:0.02" and second["perturbations"] == ""
    assert first["tags"] == "a; b" and first["stage_steps"] == "4; 9"
    assert json.loads(first["instructions"]) == [{"step": 0, "text": 'Pick up "it";\nnow'}]


def test_what_a_trial_was_for_has_columns_of_its_own() -> None:
    first, second = flat(table()).sort("seed").to_dicts()
    assert (first["design.purposes"], first["design.suite"], first["design.variant"]) == (2, "cliff; stress", "clean")
    assert (second["design.purposes"], second["design.level"], second["design.source_id"]) == (1, "v2", FIRST.id)
    assert json.loads(second["design"])[0]["factors"] == {"noise": 25.0, "word": "x", "flag": True}


def test_csv_reads_back_and_runs_no_formula() -> None:
    found = flat(table()).with_columns(policy=pl.lit("=HYPERLINK(1)")).rename({"clock": "@clock"})
    back = pl.read_csv(io.StringIO(to_csv(found)), infer_schema_length=None)
    assert back["policy"].to_list() == ["'=HYPERLINK(1)"] * 2 and "'@clock" in back.columns
    assert back["failure_evidence.object"].to_list().count("'=cube") == 1
    # Numbers are none, though they begin with a minus.
    assert -1.5 in back["quantities.grip"].to_list()
    assert back["instructions"].to_list() == found["instructions"].to_list()
    assert len(back) == 2


def test_a_run_without_episodes_has_its_columns() -> None:
    found = flat(table().clear())
    assert len(found) == 0 and {"trial_id", "target.kind", "design.variant"} <= {*found.columns}
    assert to_csv(found).startswith("trial_id,")


def test_parquet_holds_the_table_as_it_is() -> None:
    assert pl.read_parquet(io.BytesIO(to_parquet(flat(table())))).equals(flat(table()))


def test_logins_are_left_out_of_every_text() -> None:
    rows = table().with_columns(policy=pl.lit("ws://me:p@ss@host:8000/a@b"), error=pl.lit("see http://host/a@b"))
    found = flat(rows)
    assert set(found["policy"]) == {"ws://…@host:8000/a@b"} and set(found["error"]) == {"see http://host/a@b"}

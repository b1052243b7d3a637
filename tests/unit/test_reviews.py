"""Reviews by people: what is sampled, what is stored, how well they agree, and what the command says."""

from __future__ import annotations

import csv
import errno
import fcntl
import io
import json
import os
import threading
import time
import tracemalloc
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import numpy as np
import polars as pl
import pytest
from statsmodels.stats.inter_rater import cohens_kappa  # type: ignore[import-untyped]

from robodx.analysis.attribution.base import Type
from robodx.analysis.metamorphic.measuring import measured
from robodx.analysis.metamorphic.words import expectation
from robodx.analysis.reviews import sampling
from robodx.analysis.reviews.failures import failure_review, item_id
from robodx.analysis.reviews.outcome import annotation_table, outcome
from robodx.analysis.reviews.pairs import DEFAULT_LEVEL, judged_pairs
from robodx.analysis.reviews.sampling import ORACLE, RELATION, draw, population, sample_size
from robodx.analysis.reviews.taxonomy import AUTOMATIC, CANNOT_TELL, LABELS, NO_FAILURE, automatic_label
from robodx.analysis.statistics.agreement import agreement
from robodx.cli import reviewing
from robodx.errors import UserError
from robodx.records import annotations as stored
from robodx.records.annotations import (
    Annotation,
    Annotations,
    Unannotated,
    annotation_of,
    annotations_path,
    append_annotation,
    read_annotations,
)
from robodx.records.pairs import ROW, write_pairs
from robodx.records.review import (
    DEFAULT_NAME,
    Item,
    Label,
    Review,
    UnreadableReview,
    read_review,
    review_path,
    write_review,
)
from robodx.records.table import load
from robodx.records.values import factor_record
from robodx.sim import gl
from robodx.streams import Streams
from robodx.video import filming
from tests.commands import call
from tests.metamorphic import MadeRun, line
from tests.reviewing import pair, paired_run, pairs_table, trial_id, write_film

NAMES = [label.name for label in LABELS]


def rng() -> np.random.Generator:
    return Streams(0, owner="review").rng("sample")


def judged(count: int, **said: Any) -> pl.DataFrame:
    """Pairs that are violated; every second one is flagged too."""
    return pairs_table([pair(n, **said) for n in range(count)]).with_columns(is_violated=pl.lit(True))


def small_review(items: int = 4) -> Review:
    each = tuple(Item(f"item {n}", automatic="grasp stability" if n else NO_FAILURE) for n in range(items))
    return Review("failures", "Review failures", "What went wrong?", LABELS, each)


def said(item: int, label: str, annotator: str = "ann", **more: Any) -> Annotation:
    return annotation_of(small_review(), {"item": f"item {item}", "annotator": annotator, "label": label, **more})


# Sampling


def test_the_papers_sample_is_192_of_7899() -> None:
    assert sample_size(7899) == 192


def test_a_sample_is_never_larger_than_its_population() -> None:
    assert [sample_size(n) for n in (0, 1, 2, 10, 100, 10**9)] == [0, 1, 2, 10, 67, 196]
    assert sample_size(7899, margin=0.05) == 367
    for margin in (0, 1e-200, 1, float("nan")):
        with pytest.raises(UserError, match=f"margin of {margin:g} is not between 0.001 and 1"):
            sample_size(10, margin=margin)


def test_half_are_oracle_failures_and_half_violations() -> None:
    drawn = draw(judged(7899), rng())
    assert dict(drawn["drawn_from"].value_counts().iter_rows()) == {ORACLE: 96, RELATION: 96}
    assert drawn.filter(pl.col("drawn_from") == ORACLE)["is_flagged"].all()
    assert drawn.select(ROW).n_unique() == 192


def test_where_there_are_few_of_one_half_the_other_makes_up_for_it() -> None:
    pairs = judged(1000, is_flagged=False).with_columns(is_flagged=pl.int_range(pl.len()) < 20)
    drawn = draw(pairs, rng())
    assert len(drawn) == sample_size(1000) == 165
    # What is both was not used up as a violation.
    assert dict(drawn["drawn_from"].value_counts().iter_rows()) == {ORACLE: 20, RELATION: 145}
    only = draw(judged(50, is_flagged=True).with_columns(is_violated=pl.int_range(pl.len()) == 7), rng())
    assert dict(only["drawn_from"].value_counts().iter_rows()) == {ORACLE: sample_size(50) - 1, RELATION: 1}


def test_every_stratum_has_its_share() -> None:
    pairs = judged(7899)
    drawn = draw(pairs, rng()).filter(pl.col("drawn_from") == RELATION)
    every = population(pairs).filter("is_violated")
    for by in (["relation"], ["relation", "task"]):
        shares = dict(((*key,), n / len(every) * 96) for *key, n in every.group_by(by).len().iter_rows())
        counts = {(*key,): n for *key, n in drawn.group_by(by).len().iter_rows()}
        assert all(abs(counts[key] - share) < 4 for key, share in shares.items()), (shares, counts)
    # Of a single draw, within one.
    alone = sampling.spread(every, 96, rng())
    counts = dict(alone["relation"].value_counts().iter_rows())
    for relation, n in every["relation"].value_counts().iter_rows():
        assert abs(counts[relation] - 96 * n / len(every)) <= 1


def test_a_sample_does_not_depend_on_the_order_of_rows() -> None:
    pairs = judged(400)
    shuffled = pairs.sample(fraction=1.0, shuffle=True, seed=3)
    assert draw(pairs, rng()).equals(draw(shuffled, rng()))
    other = draw(pairs, Streams(0, owner="review").rng("sample", "another"))
    assert set(other["trial_id"]) != set(draw(pairs, rng())["trial_id"])


def test_neither_repeats_nor_errors_nor_what_nobody_accuses_is_drawn() -> None:
    rows = [
        pair(1, relation="MR0"), pair(2, is_flagged=None, frechet_m=None), pair(3, frechet_m=0.01), pair(4), pair(5),
    ]  # fmt: skip
    pairs = pairs_table(rows).with_columns(is_violated=pl.col("frechet_m") > 0.2)
    assert set(draw(pairs, rng())["source_id"]) == {trial_id(4), trial_id(5)}
    assert len(draw(pairs.clear(), rng())) == 0


def test_the_halves_are_mixed() -> None:
    """Who labels must not learn from the order which half comes next."""
    order = draw(judged(2000), rng())["drawn_from"].to_list()
    assert 0.3 < np.mean([a != b for a, b in pairwise(order)]) < 0.7


# Labels


def test_the_taxonomy_is_the_papers_and_the_attribution_speaks_it() -> None:
    groups = {group: [one.name for one in LABELS if one.group == group] for group in {one.group for one in LABELS}}
    assert groups == {
        "manipulation": ["grasp synthesis", "grasp stability", "placement and release"],
        "motion": ["collision", "trajectory sub-optimality", "control instability"],
        "planning and reasoning": ["incomplete execution", "incorrect action sequence"],
        "": [NO_FAILURE, CANNOT_TELL],
    }
    assert set(AUTOMATIC) == set(get_args(Type)) and set(AUTOMATIC.values()) <= set(NAMES)
    assert automatic_label(True, "wrong object") == "incorrect action sequence"
    assert automatic_label(False, None) == NO_FAILURE
    # Actions that cannot be executed are a failure without a type; an error is neither.
    assert automatic_label(True, None) is None and automatic_label(None, None) is None


# Agreement


def test_kappa_is_as_computed_by_hand() -> None:
    """Cohen's example in the table of yes and no: 20 and 15 alike, 5 and 10 apart."""
    first = ["yes"] * 25 + ["no"] * 25
    second = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    found = agreement(first, second)
    assert found.share.value == pytest.approx(0.7)
    assert found.kappa.value == pytest.approx((0.7 - 0.5) / (1 - 0.5))
    assert found.kappa.n == 50


def test_kappa_is_as_others_compute_it_and_its_interval_is_as_wide() -> None:
    random = np.random.default_rng(1)
    first = random.choice(4, size=300, p=[0.4, 0.3, 0.2, 0.1])
    second = np.where(random.random(300) < 0.7, first, random.choice(4, size=300))
    table = np.zeros((4, 4))
    np.add.at(table, (first, second), 1)
    known = cohens_kappa(table)
    found = agreement([str(one) for one in first], [str(one) for one in second]).kappa
    assert found.value == pytest.approx(known.kappa)
    assert found.low == pytest.approx(known.kappa_low, abs=0.01)
    assert found.high == pytest.approx(known.kappa_upp, abs=0.01)


def test_kappa_has_a_width_where_all_agree_and_none_where_there_is_nothing_to_tell_apart() -> None:
    alike = agreement(list("aabb"), list("aabb")).kappa
    assert alike.value == 1 and alike.high == 1 and alike.low is not None and alike.low < 0.5
    assert agreement(list("aaaa"), list("aaaa")).kappa.value is None
    assert agreement([], []).kappa.n == 0
    opposed = agreement(list("ab"), list("ba")).kappa
    assert (opposed.value, opposed.low) == (-1, -1)


def test_people_are_compared_on_what_both_labelled_by_label_and_by_group() -> None:
    ann = [said(0, "collision"), said(1, "grasp stability"), said(2, "grasp synthesis"), said(3, NO_FAILURE)]
    bob = [said(0, "collision", "bob"), said(1, "grasp synthesis", "bob"), said(2, "collision", "bob")]
    found = outcome(small_review(), Annotations([*ann, *bob], []))
    (two,) = found.between
    assert (two.first, two.second, two.labels.share.n) == ("ann", "bob", 3)
    assert two.labels.share.value == pytest.approx(1 / 3)
    # By hand: of motion ann has 1 and bob 2 of 3, so that chance is (1 · 2 + 2 · 1) / 9.
    assert two.groups.share.value == pytest.approx(2 / 3)
    assert two.groups.kappa.value == pytest.approx((2 / 3 - 4 / 9) / (1 - 4 / 9))
    assert found.progress == {"ann": 4, "bob": 3} and found.labelled == 4
    assert found.counts["bob"] == {"collision": 2, "grasp synthesis": 1}


def test_the_program_is_compared_with_what_most_chose() -> None:
    """Item 0 was solved, says the program; in the others a grasp did not hold."""
    rows = [
        said(0, NO_FAILURE), said(1, "grasp stability"), said(2, "collision"), said(3, CANNOT_TELL),
        said(0, NO_FAILURE, "bob"), said(1, "collision", "bob"), said(2, "collision", "bob"),
        said(2, "grasp stability", "eve"),
    ]  # fmt: skip
    found = outcome(small_review(), Annotations(rows, []))
    # Of item 1 they say both, and of item 3 nothing.
    assert found.with_program.undecided == 2
    assert found.with_program.confusion == (("grasp stability", "collision", 1), (NO_FAILURE, NO_FAILURE, 1))
    assert found.with_program.labels.share.value == 0.5
    assert found.with_attribution.labels.share.n == 1 and found.with_attribution.labels.share.value == 0


# The stored review


def test_a_review_is_read_as_it_was_written(tmp_path: Path) -> None:
    review = replace(small_review(), drawn={"level": "medium", "margin": 0.07, "population": 7})
    write_review(tmp_path, review)
    assert read_review(tmp_path, "failures") == review


@pytest.mark.parametrize("name", ["../x", "a/b", "", "A", "x" * 41, ".hidden", "a\n"])
def test_a_name_of_a_review_leads_nowhere(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match="no name of a review"):
        review_path(tmp_path, name)


@pytest.mark.parametrize(
    "content",
    [
        "{", "[]", '{"format": 2}', '{"format": 1}', "[" * 100_000,
        json.dumps({"format": 1, "title": 3, "question": "", "labels": [], "items": [], "drawn": {}}),
        json.dumps({"format": 1, "title": "", "question": "", "labels": [{}] * 50, "items": [], "drawn": {}}),
    ],
)  # fmt: skip
def test_a_damaged_review_is_named(tmp_path: Path, content: str) -> None:
    review_path(tmp_path, "failures").parent.mkdir()
    review_path(tmp_path, "failures").write_text(content)
    with pytest.raises(UnreadableReview, match=r"failures\.json (is damaged|has format)"):
        read_review(tmp_path, "failures")


def test_labels_and_items_are_there_once() -> None:
    with pytest.raises(ValueError, match='label "a" twice'):
        Review("x", "", "", (Label("a"), Label("a")), ())
    with pytest.raises(ValueError, match='item "b" twice'):
        Review("x", "", "", (), (Item("b"), Item("b")))
    with pytest.raises(ValueError, match='"c" is none of the labels: a'):
        Review("x", "", "", (Label("a"),), (Item("b", automatic="c"),))


# Annotations


@pytest.fixture
def reviewed(tmp_path: Path) -> Path:
    write_review(tmp_path, small_review())
    return tmp_path


def test_the_last_word_of_each_annotator_counts(reviewed: Path) -> None:
    for one in (
        said(1, "collision"), said(0, "collision", "bob"), said(1, "grasp stability", text="no\nline\u2028 break"),
        said(1, NO_FAILURE, "bob"),
    ):  # fmt: skip
        append_annotation(reviewed, "failures", one)
    kept, problems = read_annotations(reviewed, small_review())
    assert [(one.item, one.annotator, one.label) for one in kept] == [
        ("item 0", "bob", "collision"), ("item 1", "ann", "grasp stability"), ("item 1", "bob", NO_FAILURE),
    ]  # fmt: skip
    assert kept[1].text == "no\nline\u2028 break" and not problems
    assert kept[1].time.endswith("+00:00") and kept[1].version
    # Nothing that was said before is gone.
    assert annotations_path(reviewed, "failures").read_bytes().count(b"\n") == 4


def test_a_line_that_was_cut_off_is_told_and_damages_no_other(reviewed: Path) -> None:
    append_annotation(reviewed, "failures", said(0, "collision"))
    path = annotations_path(reviewed, "failures")
    whole = path.read_bytes()
    path.write_bytes(whole + whole[: len(whole) // 2])
    kept, problems = read_annotations(reviewed, small_review())
    assert len(kept) == 1 and problems == [
        "line 2 of failures.jsonl does not count: it was cut off, and what it said is lost"
    ]
    append_annotation(reviewed, "failures", said(1, "collision"))
    kept, problems = read_annotations(reviewed, small_review())
    assert [one.item for one in kept] == ["item 0", "item 1"] and len(problems) == 1
    assert problems[0].startswith("line 2 of failures.jsonl does not count")


def test_lines_that_mean_nothing_here_are_told(reviewed: Path) -> None:
    odd: list[dict[str, Any]] = [
        {"item": "gone"},
        {"label": "unheard"},
        {"annotator": "\x1b[2J"},
        {"further": 3},
        {"text": None},
    ]
    line = {
        "item": "item 0",
        "annotator": "ann",
        "label": "collision",
        "further": [],
        "text": "",
        "time": "",
        "version": "",
    }
    rows = [json.dumps({**line, **one}) for one in odd] + ["[]", "[" * 100_000, "9" * 5000, "\xff"]
    annotations_path(reviewed, "failures").write_text("\n".join(rows) + "\n", encoding="latin-1")
    kept, problems = read_annotations(reviewed, small_review())
    assert not kept and len(problems) == stored.TOLD + 1 and problems[-1] == "and 4 more lines"


def test_very_many_lines_that_do_not_count_are_soon_read_and_few_of_them_kept(reviewed: Path) -> None:
    lines, told_bytes = 20_000, 1_000_000
    annotations_path(reviewed, "failures").write_bytes(b"\n".join([b"x" * 100] * lines))
    began_s = time.process_time()
    kept, problems = read_annotations(reviewed, small_review())
    assert time.process_time() - began_s < 3, "looking through all of it for each of them takes longer"
    assert not kept and problems[-1] == f"and {lines - stored.TOLD} more lines"
    tracemalloc.start()
    read_annotations(reviewed, small_review())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < annotations_path(reviewed, "failures").stat().st_size + told_bytes, "not a message for each"


def test_two_writers_wait_for_each_other(reviewed: Path) -> None:
    def write(who: str) -> None:
        for n in range(20):
            append_annotation(reviewed, "failures", said(n % 4, "collision", who))

    writers = [threading.Thread(target=write, args=(who,)) for who in ("ann", "bob")]
    for one in writers:
        one.start()
    for one in writers:
        one.join()
    lines = annotations_path(reviewed, "failures").read_text().splitlines()
    assert Counter(json.loads(line)["annotator"] for line in lines) == {"ann": 20, "bob": 20}


def test_who_holds_the_file_is_not_waited_for_forever(reviewed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "PATIENCE_S", 0.05)
    append_annotation(reviewed, "failures", said(0, "collision"))
    with annotations_path(reviewed, "failures").open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(Unannotated, match="being written by another process"):
            append_annotation(reviewed, "failures", said(1, "collision"))
    append_annotation(reviewed, "failures", said(1, "collision"))


def test_on_a_full_disk_the_file_stays_as_it_was(reviewed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    append_annotation(reviewed, "failures", said(0, "collision"))
    path = annotations_path(reviewed, "failures")
    before = path.read_bytes()
    really = os.write
    monkeypatch.setattr(os, "write", lambda file, content: really(file, content[:20]))
    with pytest.raises(Unannotated, match="No space left on device"):
        append_annotation(reviewed, "failures", said(1, "collision"))
    assert path.read_bytes() == before
    monkeypatch.setattr(os, "write", really)

    def fails(file: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(Unannotated, match="Input/output error"):
        append_annotation(reviewed, "failures", said(1, "collision"))
    assert path.read_bytes() == before


def test_nothing_is_written_through_a_link(tmp_path: Path, reviewed: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "failures.jsonl").write_text("mine\n")
    path = annotations_path(reviewed, "failures")
    path.symlink_to(outside / "failures.jsonl")
    with pytest.raises(Unannotated, match="symbolic links"):
        append_annotation(reviewed, "failures", said(0, "collision"))
    path.unlink()
    path.hardlink_to(outside / "failures.jsonl")
    with pytest.raises(Unannotated, match="same file as another"):
        append_annotation(reviewed, "failures", said(0, "collision"))
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(Unannotated, match="no plain file"):
        append_annotation(reviewed, "failures", said(0, "collision"))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "reviews").symlink_to(outside)
    with pytest.raises(Unannotated, match="could not be saved"):
        append_annotation(tmp_path / "other", "failures", said(0, "collision"))
    assert (outside / "failures.jsonl").read_text() == "mine\n"


@pytest.mark.parametrize(
    ("odd", "says"),
    [
        ({"item": "item 9"}, 'no item "item 9"'), ({"item": None}, '"item" is a text'),
        ({"label": "collisoin"}, 'No label "collisoin"; there are grasp synthesis'), ({"label": ""}, 'No label ""'),
        ({"further": ["nonsense"]}, 'No label "nonsense"'), ({"further": "collision"}, "a list of labels"),
        ({"further": ["collision"]}, "given once"), ({"further": [NO_FAILURE, NO_FAILURE]}, "given once"),
        ({"further": [3]}, "a list of labels"), ({"text": "x" * 2001}, "at most 2000 characters, not 2001"),
        ({"text": 7}, '"text" is a text'), ({"annotator": ""}, "no name of an annotator"),
        ({"annotator": "x" * 41}, "no name of an annotator"), ({"annotator": "a\nb"}, "no name of an annotator"),
        ({"annotator": "<b>"}, "no name of an annotator"), ({"annotator": ["ann"]}, '"annotator" is a text'),
        ({"time": "now"}, 'has no "time"'), ({"path": "/etc/passwd"}, 'has no "path"'),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_and_named(odd: dict[str, Any], says: str) -> None:
    whole = {"item": "item 0", "annotator": "ann", "label": "collision", "further": [], "text": ""}
    assert annotation_of(small_review(), whole).label == "collision"
    with pytest.raises(UserError) as error:
        annotation_of(small_review(), {**whole, **odd})
    assert says in str(error.value)


@pytest.mark.parametrize("sent", [None, [], "text", 3])
def test_an_annotation_is_a_table(sent: object) -> None:
    with pytest.raises(UserError, match="a table of keys and values"):
        annotation_of(small_review(), sent)


def test_names_are_of_any_script_and_spelled_one_way() -> None:
    names = [said(0, "collision", who).annotator for who in (" Ann-Marie O'Neil ", "Jose\u0301", "王 小明")]
    assert names == ["Ann-Marie O'Neil", "Jos\u00e9", "王 小明"]


def test_half_a_character_is_spelled_out(reviewed: Path) -> None:
    append_annotation(reviewed, "failures", said(0, "collision", text="a\ud800"))
    kept = read_annotations(reviewed, small_review())
    assert annotation_table(small_review(), kept)["text"].to_list() == ["a\\ud800"]


# The failure review


def test_an_item_says_what_differs_and_nothing_of_what_came_of_it(tmp_path: Path) -> None:
    rows = [pair(n, frechet_m=0.35) for n in range(12)]
    run = paired_run(tmp_path / "run", rows)
    episodes = load(run)
    moved = [factor_record(one) for one in (("relation", "MR5"), ("moved_x", 0.07), ("moved_y", -0.05))]
    follow_up = {
        "suite": "metamorphic",
        "variant": "follow-up",
        "source_id": trial_id(2),
        "factors": moved,
        "level": None,
    }
    design = [[follow_up] if row == trial_id(1002) else [] for row in episodes["trial_id"]]
    episodes = episodes.with_columns(pl.Series("design", design, episodes.schema["design"]))
    review = failure_review(judged_pairs(run, "medium"), episodes, rng(), level="medium")
    assert len(review.items) == sample_size(12) == 12
    items = {item.films[0].trial_id: item for item in review.items}
    synonym, relocated = items[trial_id(0)], items[trial_id(2)]
    assert synonym.id == f"{trial_id(0)}.{trial_id(1000)}.MR1"
    assert [film.title for film in synonym.films] == ["source", "follow-up"]
    assert synonym.films[1].says == "Grab the red cube."
    assert dict(synonym.facts) == {
        "relation": "MR1 synonym: the verb of the instruction is replaced by a synonym; expected: the same path",
        "what differs": "the instruction",
        "task": "carrier/pick_up",
    }
    assert dict(relocated.facts)["what differs"] == "moved 7 cm away from the robot and 5 cm to its right"
    assert synonym.automatic == "grasp stability" and items[trial_id(1)].automatic == NO_FAILURE
    shown = json.dumps([[item.films, item.facts] for item in review.items], default=vars)
    assert "grasp" not in shown and "flagged" not in shown and "violat" not in shown


def test_of_a_composition_both_relations_are_told() -> None:
    told = expectation("MR1 & MR3", "consistency")
    assert " by a synonym and the light is " in told and told.endswith("; expected: the same path")


@pytest.mark.parametrize(
    ("relation", "pattern", "told"),
    [
        ("mine", "consistency", "mine; expected: the same path"),
        ("mine", "variation", "mine; expected: another path, or none"),
        ("mine", "relocation", "mine; expected: a path that changes as far as something was moved"),
        ("mine", "something new", "mine"),
        ("MR4", "variation", "MR4 negation: the instruction is negated; expected: something else, or nothing"),
    ],
)
def test_what_is_expected_of_a_relation_of_ones_own_goes_by_its_pattern(relation: str, pattern: str, told: str) -> None:
    assert expectation(relation, pattern) == told


def test_verdicts_are_stricter_at_stricter_levels(tmp_path: Path) -> None:
    rows = [
        pair(n, frechet_m=n / 50, pattern=("consistency", "variation", "relocation")[n % 3], moved_m=0.1)
        for n in range(30)
    ]
    run = paired_run(tmp_path / "run", [*rows, pair(30, frechet_m=None)])
    counts = [judged_pairs(run, level)["is_violated"].sum() for level in ("strict", "medium", "low")]
    assert counts == sorted(counts, reverse=True) and len(set(counts)) == 3
    assert judged_pairs(run, "low")["is_violated"].null_count() == 1
    with pytest.raises(UserError, match='No level "lax"'):
        judged_pairs(run, "lax")


def test_stored_pairs_are_taken_over_only_as_far_as_they_are_those_of_the_run(tmp_path: Path) -> None:
    made = MadeRun(tmp_path / "run")
    path = line((0.0, 0.0, 0.0), (0.3, 0.0, 0.0))
    source = made.source(3, path)
    made.follow_up(source, "MR1", path + 0.1)
    run = made.write()
    stored_then = measured(run, load(run))
    forged = stored_then.with_columns(frechet_m=pl.lit(0.0), is_flagged=pl.lit(True), follow_up_hash=pl.lit("another"))
    write_pairs(run, forged)
    made.follow_up(source, "MR2", path + 0.5)
    made.write()
    found = judged_pairs(run, "medium")
    assert found["relation"].to_list() == ["MR1", "MR2"], "the run went on since"
    assert found["frechet_m"].to_list() == pytest.approx([0.1 * 3**0.5, 0.5 * 3**0.5])
    assert found["is_violated"].to_list() == [False, True] and found["is_flagged"].to_list() == [False, False]


def test_a_run_whose_design_has_the_suite_and_no_pair_has_none_to_review(tmp_path: Path) -> None:
    made = MadeRun(tmp_path / "run")
    made.source(3, line((0.0, 0.0, 0.0), (0.3, 0.0, 0.0)))
    run = made.write()
    write_pairs(run, pairs_table([pair(1)]))
    with pytest.raises(UserError, match="has no pairs of trials to review"):
        judged_pairs(run)


# The command


@pytest.fixture
def without_pictures(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Instead of rendering, it is noted what is to be filmed, and something put there."""
    asked: list[str] = []

    def film_trials(run: Path, trial_ids: list[str], tell: Any, *, is_plain: bool) -> Any:
        # Who labels is not to read what the program says of it.
        assert is_plain
        asked.extend(trial_ids)
        rows = {row["trial_id"]: row for row in load(run).iter_rows(named=True)}
        for one in trial_ids[:-1]:
            write_film(run, rows[one], steps=2)
            yield one
        tell(f"{trial_ids[-1]} cannot be filmed: lost")

    monkeypatch.setattr(filming, "film_trials", film_trials)
    monkeypatch.setattr(gl, "status", lambda: gl.GLStatus("none", True, None, (), ""))
    return asked


def label_all(run: Path, annotator: str, labels: list[str]) -> None:
    review = read_review(run, "failures")
    for item, label in zip(review.items, labels, strict=False):
        sent = {"item": item.id, "annotator": annotator, "label": label, "text": "as I see it"}
        append_annotation(run, "failures", annotation_of(review, sent))


def test_the_command_draws_films_tells_and_exports(tmp_path: Path, without_pictures: list[str]) -> None:
    run = paired_run(tmp_path / "run", [pair(n) for n in range(6)], films=1)
    assert "has no review" in call("review", run, cwd=tmp_path, expect=2)
    first = call("review", run, "--prepare", cwd=tmp_path)
    assert "Drew 6 of 6 pairs." in first and "Filmed 9 episodes." in first and "cannot be filmed: lost" in first
    assert "3 from oracle failures, 3 from relation violations" in first and "1 film missing" in first
    assert "Nobody has labelled anything yet" in first
    # In the order of the review, without those that are there.
    asked = [one for one in read_review(run, "failures").trial_ids() if one not in (trial_id(0), trial_id(1000))]
    assert without_pictures == asked
    label_all(run, "ann", ["collision", "collision", NO_FAILURE, NO_FAILURE])
    label_all(run, "bob", ["collision", "collision", NO_FAILURE, "collision", "collision"])
    told = call("review", run, cwd=tmp_path)
    # By hand: 3 of 4 alike; ann has 2, bob 3 collisions: chance is (2 · 3 + 2 · 1) / 16.
    assert "75% [30, 95]" in told and "0.50 [−0.40, 0.91]" in told
    assert [line.split() for line in told.splitlines() if line.startswith("labelled")] == [
        ["labelled,", "of", "6", "4", "5"]
    ]
    found = json.loads(call("review", run, "--json", cwd=tmp_path))
    assert found["progress"] == {"ann": 4, "bob": 5} and found["films_missing"] == 1
    assert found["between"][0]["labels"]["kappa"]["value"] == pytest.approx(0.5)
    out = tmp_path / "said.csv"
    assert "9 annotations" in call("review", run, "--export", out, cwd=tmp_path)
    rows = list(csv.DictReader(io.StringIO(out.read_text())))
    assert len(rows) == 9 and {row["annotator"] for row in rows} == {"ann", "bob"}
    assert rows[0]["relation"] in ("MR1", "MR3", "MR5") and rows[0]["frechet_by_hand"] == "0.35"
    assert rows[0]["is_violated"] == "true" and rows[0]["group"] == "motion" and rows[0]["text"] == "as I see it"
    call("review", run, "--export", tmp_path / "said.parquet", cwd=tmp_path)
    table = pl.read_parquet(tmp_path / "said.parquet")
    assert table.schema["frechet_by_hand"] == pl.List(pl.Float64) and len(table) == 9
    assert "neither a .csv nor a .parquet" in call("review", run, "--export", "x.xlsx", cwd=tmp_path, expect=2)


def test_a_sample_that_is_labelled_is_kept(tmp_path: Path, without_pictures: list[str]) -> None:
    run = paired_run(tmp_path / "run", [pair(n) for n in range(40)])
    call("review", run, "--prepare", "--margin", "0.2", cwd=tmp_path)
    before = review_path(run, "failures").read_bytes()
    drawn = read_review(run, "failures")
    assert len(drawn.items) == sample_size(40, 0.2)
    # Nobody labelled yet: another sample may take its place.
    call("review", run, "--prepare", "--margin", "0.3", cwd=tmp_path)
    assert len(read_review(run, "failures").items) < len(drawn.items)
    call("review", run, "--prepare", "--margin", "0.2", cwd=tmp_path)
    assert review_path(run, "failures").read_bytes() == before
    label_all(run, "ann", ["collision"])
    said = call("review", run, "--prepare", cwd=tmp_path, expect=2)
    assert "1 annotation of a sample at level medium with margin 0.2: choose another --name" in said
    pairs_table([pair(n) for n in range(20)]).write_parquet(run / "pairs.parquet")
    assert "It stays: it has 1 annotations." in call("review", run, "--prepare", "--margin", "0.2", cwd=tmp_path)
    assert review_path(run, "failures").read_bytes() == before
    call("review", run, "--prepare", "--name", "second", cwd=tmp_path)
    assert len(read_review(run, "second").items) == sample_size(20)


def test_what_cannot_be_reviewed_is_said(tmp_path: Path) -> None:
    run = paired_run(tmp_path / "run", [pair(1, frechet_m=0.01)])
    assert "no failures to review" in call("review", run, "--prepare", cwd=tmp_path, expect=2)
    said = call("review", run, "--prepare", "--level", "lax", cwd=tmp_path, expect=2)
    assert 'No level "lax"' in said and "medium" in said
    for option in (("--level", "low"), ("--margin", "0.2"), ("--level", "low", "--export", "said.csv")):
        assert "are for --prepare" in call("review", run, *option, cwd=tmp_path, expect=2)
    assert "is no name of a review" in call("review", run, "--name", "../x", cwd=tmp_path, expect=2)
    (run / "pairs.parquet").write_bytes(b"PAR1")
    assert "has no pairs of trials to review" in call("review", run, "--prepare", cwd=tmp_path, expect=2)
    (run / "pairs.parquet").unlink()
    assert "has no pairs of trials to review" in call("review", run, "--prepare", cwd=tmp_path, expect=2)


def test_the_command_has_the_defaults_of_the_analysis() -> None:
    assert (reviewing.DEFAULT_NAME, reviewing.DEFAULT_LEVEL, reviewing.DEFAULT_MARGIN) == (
        DEFAULT_NAME, DEFAULT_LEVEL, sampling.MARGIN,
    )  # fmt: skip


def test_an_export_of_another_kind_of_review_needs_no_pairs() -> None:
    review = small_review()
    table = annotation_table(review, Annotations([said(0, "collision", further=[NO_FAILURE])], []))
    assert table.select("item", "label", "group", "further", "automatic").row(0) == (
        "item 0", "collision", "motion", NO_FAILURE, NO_FAILURE,
    )  # fmt: skip
    assert item_id().meta.output_name() == "item"

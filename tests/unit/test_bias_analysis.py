"""The bias analysis on policies whose bias is known: none, one hated value, no interaction, and one that is there."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from robodx.analysis.bias.before_after import change, changes
from robodx.analysis.bias.cells import grids
from robodx.analysis.bias.chance import jackknifed, permuted
from robodx.analysis.bias.coefficients import by_context, coefficient, interaction, rates_of
from robodx.analysis.bias.colours import GROUPS, group_of, saturation
from robodx.analysis.bias.effects import signed_effects
from robodx.analysis.bias.interactions import interaction_of, main_effects
from robodx.analysis.bias.tables import FactorBias, bias_table, factor_bias
from robodx.analysis.metrics.bias import bias_coefficient, interaction_effect
from robodx.analysis.statistics.sequential import stopped_how
from tests.bias import COLOURS, POSES, MadeRun, grid_of

Floats = NDArray[np.float64]


def drawn(chances: object, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    return (rng.random(shape) < np.broadcast_to(np.asarray(chances), shape)).astype(np.float64)


def contexts(count: int, blocks: int) -> NDArray[np.int64]:
    return np.repeat(np.arange(count, dtype=np.int64), blocks)


def crossed(chances: Floats, blocks: int, rng: np.random.Generator) -> Floats:
    return drawn(chances[None], (blocks, *chances.shape), rng)


# Coefficients


def test_the_coefficient_is_the_mean_over_contexts_of_the_population_std_over_the_mean() -> None:
    rates = np.array([[0.2, 0.6], [1.0, 1.0], [0.0, 0.0]])
    assert by_context(rates)[:2] == pytest.approx([0.5, 0.0], abs=1e-5)
    assert np.isnan(by_context(rates)[2]), "nothing succeeds there: no coefficient"
    assert coefficient(rates) == pytest.approx(0.25, abs=1e-5), "and no say in the mean"
    assert np.isnan(coefficient(np.zeros((2, 3)))), "as the N/A of an agent that never succeeds"


def test_the_arrays_say_what_the_tables_say() -> None:
    rng = np.random.default_rng(3)
    success = drawn(0.5, (12, 4, 5), rng)
    context_of = contexts(3, 4)
    rows = [
        {"context": str(context_of[block]), "a": str(a), "b": str(b), "success": bool(success[block, a, b])}
        for block, a, b in np.ndindex(success.shape)
    ]
    table = pl.DataFrame(rows)
    only = table.filter(pl.col("b") == "0")
    assert coefficient(rates_of(success[:, :, 0], context_of)) == pytest.approx(bias_coefficient(only, "a"))
    rates = rates_of(success.reshape(12, -1), context_of).reshape(3, 4, 5)
    assert interaction(rates) == pytest.approx(interaction_effect(table, "b", "a"))
    assert interaction(np.moveaxis(rates, 1, 2)) == pytest.approx(interaction_effect(table, "a", "b"))


def test_what_is_not_known_is_left_out_of_a_rate_and_stays_where_it_is() -> None:
    success = np.array([[1.0, np.nan, 0.0], [1.0, 1.0, np.nan]])
    rates = rates_of(success, contexts(1, 2))
    assert rates.tolist() == [[1.0, 1.0, 0.0]]
    holed = np.where(np.arange(30).reshape(10, 3) % 7 == 0, np.nan, drawn(0.5, (10, 3), np.random.default_rng(0)))
    found = permuted(holed, contexts(2, 5), np.arange(10), np.random.default_rng(0), 50)
    assert found.floor.value is not None and found.p is not None


# The published numbers. The paper gives success rates and coefficients, each a mean over 11 contexts, and no rates of
# single values: Figures 2 to 4 and 7 are pictures and its appendix has no table. No coefficient of it can be recomputed
# from what it publishes. What can be checked is that its averages follow from its columns, that a policy that never
# succeeds has no coefficient (its N/A, above), and where its coefficients lie beside what 5 repeats give by chance.

TABLE_1 = {
    "MOKA (Qwen)": ((22.92, 38.10, 56.16, 68.89), 46.52, (139.25, 91.68, 49.2, 35.16), 78.82),
    "MOKA (GPT-4o)": ((23.92, 68.23, 71.72, 70.51), 58.60, (134.54, 40.28, 28.38, 28.67), 57.97),
    "Simple (Qwen)": ((47.83, 38.10, 12.93, 34.55), 33.35, (107.25, 96.4, 197.23, 92.61), 123.37),
    "pi0": ((53.87, 30.22, 57.78, 44.24), 46.53, (37.63, 84.87, 36.81, 52.90), 53.05),
}
TABLE_2 = {
    "CV(C)": ((100.11, 132.17, 109.52), 113.93), "IEC(C; P)": ((42.39, 70.48, 58.32), 57.06),
    "CV(P)": ((138.83, 132.64, 104.27), 125.25), "IEC(P; C)": ((50.96, 18.17, 19.37), 29.50),
}  # fmt: skip


def test_the_published_averages_follow_from_the_published_columns() -> None:
    for rates, mean_rate, coefficients, mean_coefficient in TABLE_1.values():
        assert np.mean(rates) == pytest.approx(mean_rate, abs=0.0051)
        assert np.mean(coefficients) == pytest.approx(mean_coefficient, abs=0.0051)
    for each, mean in TABLE_2.values():
        assert np.mean(each) == pytest.approx(mean, abs=0.0051)


@pytest.mark.parametrize(
    ("values", "success", "published", "is_beyond"),
    [(141, 0.5387, 0.3763, False), (21, 0.3022, 0.8487, True)],
)
def test_a_published_coefficient_lies_beside_its_floor(
    values: int, success: float, published: float, is_beyond: bool
) -> None:
    """π0's for colours is lower than five repeats of a policy without bias would give at its mean; not that for poses.

    Contexts of unlike difficulty with the same mean have a higher floor still, so that this is the least.
    """
    rng = np.random.default_rng(0)
    found = permuted(drawn(success, (55, values), rng), contexts(11, 5), np.arange(55), rng, 200)
    assert found.floor.value is not None and found.floor.low is not None and found.floor.high is not None
    assert found.floor.value == pytest.approx(np.sqrt((1 - success) / success / 5), rel=0.05), "of a binomial"
    assert (published > found.floor.high) == is_beyond and (published < found.floor.low) != is_beyond


# No bias


def test_without_bias_the_coefficient_is_at_its_floor_and_p_is_uniform() -> None:
    rng = np.random.default_rng(11)
    p_values, above = [], []
    for _ in range(200):
        # Some robot starts are harder than others, whatever the value.
        success = drawn(rng.uniform(0.2, 0.95, (12, 1)), (12, 8), rng)
        found = permuted(success, contexts(3, 4), np.arange(12), rng, 199)
        assert found.floor.value is not None and found.p is not None
        p_values.append(found.p)
        above.append(float(coefficient(rates_of(success, contexts(3, 4)))) - found.floor.value)
    expected = (1 + np.arange(200)) / 200
    assert np.abs(np.sort(p_values) - expected).max() < 0.096, "Kolmogorov and Smirnov, at 5%"
    assert 0.02 <= np.mean(np.array(p_values) <= 0.05) <= 0.085
    assert abs(float(np.mean(above))) < 2 * float(np.std(above)) / np.sqrt(200)


def test_a_policy_that_never_fails_or_fails_by_the_start_alone_has_no_bias() -> None:
    always = factor_bias(grid_of(np.ones((10, 6)), 5), np.random.default_rng(0))
    by_start = factor_bias(grid_of(np.repeat(np.arange(10.0) % 2, 6).reshape(10, 6), 5), np.random.default_rng(0))
    for one in (always, by_start):
        assert (one.coefficient.value, one.spread.value, one.beyond, one.p) == (0.0, 0.0, 0.0, 1.0)


def test_a_policy_that_never_succeeds_has_no_coefficient() -> None:
    never = factor_bias(grid_of(np.zeros((10, 6)), 5), np.random.default_rng(0))
    assert (never.coefficient.value, never.floor.value, never.beyond, never.p) == (None, None, None, None)
    assert (never.success.value, never.left_out) == (0.0, 2)


def test_blocks_that_went_alike_are_one_observation() -> None:
    """A policy that reads nothing does the same in all three wordings: that is one piece of evidence, not three."""
    rng = np.random.default_rng(6)
    once = drawn(0.5, (4, 6), rng)
    thrice, alike = np.tile(once, (3, 1)), np.tile(np.arange(4), 3)
    single = permuted(once, contexts(1, 4), np.arange(4), np.random.default_rng(1), 400)
    together = permuted(thrice, contexts(3, 4), alike, np.random.default_rng(1), 400)
    assert together.p == single.p and together.floor.value == pytest.approx(single.floor.value)
    alone, all_ = (
        jackknifed(one, contexts(len(one) // 4, 4), own, by_context)
        for one, own in ((once, np.arange(4)), (thrice, alike))
    )
    assert all_.low == pytest.approx(alone.low) and all_.high == pytest.approx(alone.high)


# One hated value


def test_one_hated_value_is_found_there_and_nowhere_else() -> None:
    rng = np.random.default_rng(4)
    chances = np.full(20, 0.8)
    chances[13] = 0.25
    grid = grid_of(drawn(chances, (55, 20), rng), 5)
    found = factor_bias(grid, rng)
    assert found.p is not None and found.p < 0.005 and found.beyond is not None and found.beyond > 0
    shown = [one for one in found.effects if one.p_holm is not None and one.p_holm < 0.05]
    assert [one.value for one in shown] == ["v13"]
    assert shown[0].difference.high is not None and shown[0].difference.high < -0.25
    assert shown[0].difference.value == pytest.approx((shown[0].solved - shown[0].solved_at_baseline) / 55)


def test_signed_effects_of_a_policy_without_bias_are_seldom_shown() -> None:
    rng = np.random.default_rng(8)
    shown = 0
    for _ in range(100):
        grid = grid_of(drawn(0.7, (20, 6), rng), 5)
        shown += any(one.p_holm is not None and one.p_holm < 0.05 for one in signed_effects(grid, rng))
    assert shown <= 9, "in no more than 5% of runs, but for chance"


def test_what_matters_in_some_contexts_alone_is_found_too() -> None:
    """Two values lose in one context what they win in another: their means are equal, and the coefficient is not."""
    rng = np.random.default_rng(9)
    chances = np.full((4, 1, 6), 0.6)
    chances[:2, :, 1], chances[2:, :, 1], chances[:2, :, 2], chances[2:, :, 2] = 0.1, 1.0, 1.0, 0.1
    success = drawn(np.repeat(chances, 10, axis=1).reshape(40, 6), (40, 6), rng)
    found = factor_bias(grid_of(success, 10), rng)
    assert found.p is not None and found.p < 0.005


def test_the_interval_of_the_coefficient_covers_what_it_should() -> None:
    rng = np.random.default_rng(12)
    slopes = rng.normal(0, 0.7, 12)
    context_of = contexts(11, 5)

    def success() -> Floats:
        starts = rng.normal(0.5, 1.5, (55, 1))
        return drawn(1 / (1 + np.exp(-(slopes + starts))), (55, 12), rng)

    aim = float(np.mean([coefficient(rates_of(success(), context_of)) for _ in range(2000)]))
    found = [jackknifed(success(), context_of, np.arange(55), by_context) for _ in range(100)]
    assert sum((one.low or 0) <= aim <= (one.high or 0) for one in found) >= 89


# Interactions


def test_without_interaction_iec_is_at_its_null_in_both_directions() -> None:
    """Both factors matter, each by itself: pure noise and ceilings already make one coefficient larger."""
    rng = np.random.default_rng(5)
    p_values, excess, ratios = [], [], []
    for _ in range(40):
        logits = rng.normal(0, 1, (7, 1)) + rng.normal(0, 1, (1, 21)) + 0.5
        found = interaction_of(
            grid_of(crossed(1 / (1 + np.exp(-logits)), 10, rng), 10, ("colour", "camera_pose")), rng, 99
        )
        assert found is not None and found.p_direction is None and found.stronger is None
        p_values.append([one.p for one in found.directions])
        excess.append([one.excess.value for one in found.directions])
        ratios.append(found.null_ratio)
    assert (np.array(p_values, dtype=float) <= 0.05).mean() <= 0.1
    mean, error = np.mean(np.array(excess, dtype=float), axis=0), np.std(np.array(excess, dtype=float), axis=0) / 6.3
    assert (np.abs(mean) < np.maximum(3 * error, 0.03)).all()


def test_noise_alone_makes_one_direction_twice_the_other_on_an_uneven_grid() -> None:
    rng = np.random.default_rng(1)
    success = crossed(np.full((7, 21), 0.5), 10, rng)
    found = interaction_of(grid_of(success, 10, ("colour", "camera_pose")), rng, 200)
    assert found is not None and found.ratio is not None and found.null_ratio is not None
    assert 1.5 < found.null_ratio < 2.5 and found.stronger is None
    assert all(one.p is not None and one.p > 0.05 for one in found.directions)


def test_a_bias_from_some_viewpoints_alone_is_an_interaction() -> None:
    rng = np.random.default_rng(2)
    chances = np.full((7, 21), 0.8)
    # From the last seven viewpoints, three colours are hardly ever found.
    chances[4:, 14:] = 0.1
    found = interaction_of(grid_of(crossed(chances, 10, rng), 10, ("colour", "camera_pose")), rng, 300)
    assert found is not None
    of_colour = found.directions[0]
    assert (of_colour.of, of_colour.given) == ("colour", "camera_pose")
    assert of_colour.p_holm is not None and of_colour.p_holm < 0.02
    assert of_colour.excess.low is not None and of_colour.excess.low > 0
    assert found.stronger is None and found.levels == (7, 21), "with unequal levels no direction is claimed"


def test_a_direction_is_claimed_with_equal_numbers_of_levels_alone() -> None:
    rng = np.random.default_rng(7)
    chances = np.full((8, 8), 0.7)
    # The first matters at one value of the second, much; the second at every value of the first, alike.
    chances[:4, 0] = 0.0
    equal = interaction_of(grid_of(crossed(chances, 20, rng), 20, ("a", "b")), rng, 300)
    uneven = interaction_of(grid_of(crossed(chances[:, :7], 20, rng), 20, ("a", "b")), rng, 300)
    assert equal is not None and uneven is not None
    assert equal.p_direction is not None and equal.p_direction < 0.05 and equal.stronger == "a"
    assert uneven.p_direction is None and uneven.stronger is None


def test_the_fitted_model_has_the_margins_of_the_data_and_survives_values_that_always_fail() -> None:
    rng = np.random.default_rng(0)
    chances = np.full((5, 6), 0.6)
    chances[2] = 0.0
    success = crossed(chances, 10, rng)
    fitted = main_effects(success)
    assert np.abs(fitted.mean(axis=(0, 2)) - success.mean(axis=(0, 2))).max() < 0.03
    assert np.abs(fitted.mean(axis=(0, 1)) - success.mean(axis=(0, 1))).max() < 0.03
    assert fitted[:, 2].max() < 0.05


# From episodes


def made(**more: str) -> MadeRun:
    return MadeRun(lambda said: 0.15 if said.get("colour") == "gray" else 0.9, **more)  # type: ignore[arg-type]


def test_grids_come_from_the_design_with_baselines_that_other_grids_have_run() -> None:
    run = made().factor("colour", tuple(COLOURS), repeats=2).factor("camera_pose", POSES, repeats=2).crossed(repeats=4)
    found = {grid.name: grid for grid in grids(run.episodes)}
    assert list(found) == ["camera_pose", "colour", "colour × camera_pose"]
    colour, pose, both = found["colour"], found["camera_pose"], found["colour × camera_pose"]
    assert colour.success.shape == (22, 14) and pose.success.shape == (22, 21) and both.success.shape == (4, 7, 21)
    for grid in found.values():
        assert not np.isnan(grid.success).any() and len(grid.contexts) in (11, 1)
    assert colour.values[0][0] == "red" and pose.values[0][:2] == ("ring 1, -90°", "ring 1, -60°")
    assert not np.isnan(pose.baseline).any(), "the original camera was tried with the colours"
    assert (pose.baseline == colour.baseline).all() and len(signed_effects(pose, np.random.default_rng(0))) == 21


def test_errors_are_no_data_and_too_many_of_them_leave_no_number() -> None:
    run = made().factor("colour", tuple(COLOURS), repeats=2)
    few, many = (
        run.episodes.with_columns(
            outcome=pl.when(pl.int_range(pl.len()) < count).then(pl.lit("error")).otherwise("outcome")
        )
        for count in (5, 40)
    )
    some, none = (bias_table(one) for one in (few, many))
    assert some is not None and none is not None
    assert some.factors[0].errors == 5 and some.factors[0].coefficient.value is not None
    assert (none.factors[0].errors, none.factors[0].coefficient.value, none.factors[0].effects) == (40, None, ())
    assert int(np.isnan(grids(few)[0].success).sum()) == 5


def test_a_run_that_does_not_say_what_it_is_held_against_is_read_as_before() -> None:
    older, newer = (
        bias_table(MadeRun(lambda said: 0.6, further=further).factor("colour", tuple(COLOURS), repeats=2).episodes)
        for further in ({"baseline": None}, None)
    )
    assert newer is not None and older == newer


def test_of_an_adaptive_run_pairs_have_what_holds_whenever_one_stops() -> None:
    found: list[FactorBias] = []
    for further in (None, {"repeats": "adaptive"}):
        run = MadeRun(lambda said: 0.6, further=further).factor("colour", ["red", "teal"], repeats=2)
        found += (bias_table(run.episodes) or pytest.fail("no table")).factors
    assert [one.may_have_stopped for one in found] == [False, True]
    (planned,), (adaptive,) = (one.effects for one in found)
    assert (adaptive.difference.low or 0) < (planned.difference.low or 0)
    assert (adaptive.difference.high or 0) > (planned.difference.high or 0)
    assert stopped_how({"selectors": ["bias/colour/teal/adaptive"]}) == "apart"
    assert stopped_how({"selectors": ["bias/colour", "control/easy"]}) == "planned"


def test_blocks_that_not_all_values_were_tried_in_are_left_out_where_whole_ones_are() -> None:
    """An adaptive run goes on with values by their outcomes: in its later blocks these are no longer exchangeable."""
    run = made().factor("colour", tuple(COLOURS), repeats=2)
    whole = bias_table(run.episodes)
    further = MadeRun(lambda said: 0.0).factor("colour", ["red", "gray", "teal"], repeats=3)
    # Seeds from 6 on are those of three wordings, and robot starts that the run has not.
    episodes = pl.concat([run.episodes, further.episodes.filter(pl.col("seed") >= 6)])
    (factor,) = (bias_table(episodes) or pytest.fail("no table")).factors
    assert whole is not None and (factor.blocks, factor.partial) == (22, 9)
    assert factor.coefficient == whole.factors[0].coefficient and factor.p == whole.factors[0].p
    # Pairs count wherever there are any, with intervals that hold whenever one stops.
    pairs = {one.value: one.difference for one in factor.effects}
    assert {value: one.n for value, one in pairs.items() if one.n > 22} == {"gray": 31, "teal": 31}
    planned = {one.value: one.difference for one in whole.factors[0].effects}
    assert pairs["black"].value == planned["black"].value
    assert (pairs["black"].low or 0) < (planned["black"].low or 0)
    assert (pairs["black"].high or 0) > (planned["black"].high or 0)


def test_a_run_of_a_part_of_all_cells_is_read_as_far_as_it_goes() -> None:
    """As a quick one, in which no block has all values."""
    run = made().factor("colour", tuple(COLOURS), repeats=5).crossed(repeats=10)
    part = run.episodes.filter(pl.int_range(pl.len()) % 5 == 0)
    table = bias_table(part)
    assert table is not None
    (factor,), (both,) = table.factors, table.interactions
    assert factor.partial == 0 and factor.coefficient.value is not None and factor.p is not None
    assert 0 < sum(one.difference.n for one in factor.effects) < 0.2 * 13 * 55, "pairs are where both were tried"
    assert both.directions[0].value.value is not None and both.p is None, "cells without a trial leave nothing to sum"


def test_the_table_is_the_same_however_the_episodes_are_ordered_and_whatever_else_was_run() -> None:
    run = made().factor("colour", tuple(COLOURS), repeats=2)
    first, again = bias_table(run.episodes), bias_table(run.episodes.reverse())
    assert first == again and first is not None
    run.factor("light_warmth", ["usual", "warm", "cold"], repeats=2)
    more = bias_table(run.episodes)
    assert more is not None
    assert next(one for one in more.factors if one.factor == "colour").floor == first.factors[0].floor
    assert bias_table(run.episodes.head(0)) is None


def test_colours_come_in_eleven_groups() -> None:
    found = {name: group_of(code) for name, code in COLOURS.items()}
    assert found == {
        "red": "red", "crimson": "red", "orange": "orange", "tan": "brown", "gold": "yellow", "green": "green",
        "teal": "blue", "blue": "blue", "indigo": "purple", "hotpink": "pink", "white": "white", "silver": "grey",
        "gray": "grey", "black": "black",
    }  # fmt: skip
    assert set(found.values()) == set(GROUPS)
    assert saturation("#808080") == 0.0 and saturation("#ff0000") == 1.0
    with pytest.raises(ValueError, match='"red" is no colour'):
        group_of("red")


# Before and after


def test_a_policy_that_mends_its_bias_is_seen_to_on_the_same_trials() -> None:
    def mended(said: object) -> float:
        return 0.9

    names = tuple(COLOURS)
    before = MadeRun(lambda said: 0.1 if said.get("colour") in names[7:] else 0.9, policy="vision").factor(
        "colour", names
    )
    after = MadeRun(mended, policy="sgl:vision", seed=1).factor("colour", names)
    (found,) = changes(before.episodes, after.episodes)
    assert (found.before, found.after, found.factor, found.episodes) == ("vision", "sgl:vision", "colour", 770)
    assert found.difference.high is not None and found.difference.high < -0.3
    assert found.p_holm is not None and found.p_holm < 0.005 and found.relative is not None and found.relative < -0.5
    assert found.success_difference.low is not None and found.success_difference.low > 0.2


def test_two_policies_that_are_alike_seldom_differ() -> None:
    rng = np.random.default_rng(3)
    p_values = []
    for _ in range(60):
        first, second = (grid_of(drawn(np.linspace(0.2, 0.9, 6), (12, 6), rng), 4) for _ in range(2))
        found = change(first, second, rng)
        assert found is not None and found.p is not None
        p_values.append(found.p)
    assert np.mean(np.array(p_values) <= 0.05) <= 0.1

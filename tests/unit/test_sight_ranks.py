"""Medians and quantiles by sight are numpy's, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from robodx.sight.ranks import median, medians, quantile

SIZES = [1, 2, 3, 25, 26, 1001]


@pytest.mark.parametrize("n", SIZES)
def test_medians_are_those_of_numpy(n: int) -> None:
    rng = np.random.default_rng(n)
    for rows in (rng.normal(size=(n, 3)), rng.integers(200, 256, (n, 3)).astype(np.uint8)):
        np.testing.assert_array_equal(medians(rows), np.median(rows, axis=0), strict=True)
        assert median(rows[:, 1]) == np.median(rows[:, 1])


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.9, 0.995, 1.0])
def test_quantiles_are_those_of_numpy(n: int, share: float) -> None:
    for values in np.random.default_rng(n).normal(size=(20, n)):
        assert quantile(values, share) == np.quantile(values, share)

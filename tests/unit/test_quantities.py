"""What a plugin measures of an episode is a number of any kind, or refused."""

from __future__ import annotations

import math
from typing import cast

import numpy as np
import pytest

from robodx.analysis.episode_facts import EpisodeFacts
from robodx.analysis.metrics.quantities import QUANTITIES, measured
from robodx.errors import UserError
from robodx.records.episode import Quantity

NO_FACTS = cast(EpisodeFacts, None)


@pytest.mark.parametrize("value", [2, 2.0, np.float32(2.0), np.int64(2)])
def test_a_quantity_may_be_a_number_of_numpy(value: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(QUANTITIES, "_entries", {"odd": lambda facts: value})
    assert measured(NO_FACTS) == (Quantity("odd", 2.0),)


@pytest.mark.parametrize("value", [math.nan, np.float32("inf"), "2", np.complex64(2)])
def test_what_is_no_finite_number_is_refused_by_name(value: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(QUANTITIES, "_entries", {"odd": lambda facts: value})
    with pytest.raises(UserError, match="odd"):
        measured(NO_FACTS)

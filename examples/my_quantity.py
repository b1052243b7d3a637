"""A recorded quantity of your own: robodx run primitive --policy expert --plugin examples/my_quantity.py"""

from __future__ import annotations

import numpy as np

from robodx import EpisodeFacts, quantity

SLOW_M_S = 0.01


# Then: robodx summary RUN --metric hesitation_s --plugin examples/my_quantity.py
@quantity(unit="s", better="lower")
def hesitation_s(facts: EpisodeFacts) -> float | None:
    """How long the first hand hardly moves."""
    speeds_m_s = np.linalg.norm(np.diff(facts.tools[:, 0], axis=0), axis=1) / facts.period_s
    return float((speeds_m_s < SLOW_M_S).sum() * facts.period_s)

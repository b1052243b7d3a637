"""A metric of your own: robodx run primitive --policy expert --plugin examples/my_metric.py"""

from __future__ import annotations

import polars as pl

from robodx import metric


# Then: robodx summary RUN --metric quick_success --plugin examples/my_metric.py
@metric(unit="rate", better="higher")
def quick_success(episodes: pl.DataFrame) -> float | None:
    """The share of episodes that succeed within two seconds."""
    if episodes.is_empty():
        return None
    return len(episodes.filter(pl.col("success") & (pl.col("duration_s") < 2.0))) / len(episodes)

"""Names of older versions that plugins may import still work, and say what they are called now."""

from __future__ import annotations

import pytest

from robodx.suites import base


def test_the_old_name_of_a_suites_request_still_works_and_tells_the_new_one() -> None:
    with pytest.warns(DeprecationWarning, match="SuiteRequest"):
        assert base.Plan is base.SuiteRequest  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="has no attribute 'Plam'"):
        base.Plam  # type: ignore[attr-defined]  # noqa: B018

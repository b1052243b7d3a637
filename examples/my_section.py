"""A section of the page: robodx run primitive --policy expert --plugin examples/my_section.py"""

from __future__ import annotations

from robodx.report.blocks import Text
from robodx.report.material import Material
from robodx.report.sections.base import Content, section


# Then: robodx report RUN --plugin examples/my_section.py
@section(order=85, title="Grip")
def grip(material: Material) -> Content | None:
    """How often each policy lost what it held, between the sections on motion and on latency."""
    known = {one.policy: one.episodes["drops"].drop_nulls() for one in material.subjects}
    drops = {policy: {"drops": int(each.sum()), "episodes": len(each)} for policy, each in known.items() if len(each)}
    sentences = [
        Text(f"{policy} dropped something {count['drops']} times in {count['episodes']} episodes.")
        for policy, count in drops.items()
    ]
    return Content(sentences, drops) if drops else None

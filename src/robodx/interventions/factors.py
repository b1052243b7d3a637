"""Factors of visual bias: an intervention, the values that are tried, and the one that is usual."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product as crossed

from robodx.errors import UserError
from robodx.interventions.base import INTERVENTIONS
from robodx.records.values import Applied
from robodx.registry import Registry, require

USUAL = "usual"
# Of factors by name, what each is set to.
Setting = Mapping[str, str]


@dataclass(frozen=True)
class Factor:
    """Something that should make no difference: what it is set to, with which intervention, and what it usually is."""

    name: str
    intervention: str
    values: tuple[str, ...]
    baseline: str
    # Whether it is one of the paper's, and run without being asked for.
    is_in_paper: bool = False

    def applied(self, value: str) -> tuple[Applied, ...]:
        """What sets it; nothing where it is as usual."""
        require(f"value of the factor {self.name}", value, (self.baseline, *self.values))
        return () if value == self.baseline else ((self.intervention, value),)


FACTORS: Registry[Factor] = Registry("factor", "interventions")


def factor(
    name: str, intervention: str, *, baseline: str = USUAL, is_in_paper: bool = False, has_baseline: bool = True
) -> Factor:
    """Register a factor over all values of a registered intervention, and the baseline if that is tried as well."""
    values = tuple(INTERVENTIONS[intervention].values)
    if not values:
        raise UserError(f"the intervention {intervention} has no values: a factor needs some")
    if has_baseline and baseline not in values:
        values = (baseline, *values)
    return FACTORS.add(name, Factor(name, intervention, values, baseline, is_in_paper))


# Samplers: settings one after the other.


def each(factor: Factor, values: Sequence[str] | None = None) -> Iterator[Setting]:
    """The factor at each of its values, or at these."""
    for value in factor.values if values is None else values:
        yield {factor.name: value}


def union(*samplers: Iterator[Setting]) -> Iterator[Setting]:
    """All of the first, then all of the next; what comes in several comes several times."""
    for sampler in samplers:
        yield from sampler


def product(*samplers: Iterator[Setting]) -> Iterator[Setting]:
    """Every setting of the one with every setting of the others."""
    for parts in crossed(*map(tuple, samplers)):
        merged: dict[str, str] = {}
        for part in parts:
            merged |= part
        yield merged

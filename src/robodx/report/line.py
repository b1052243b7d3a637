"""A sentence of the first screen, with what belongs to it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    text: str
    # That it speaks of; `label` stands before it.
    command: str = ""
    # What one might do about it: told as advice, and as nothing more.
    advice: str = ""
    # Of the finding that it is about, on the page.
    anchor: str = ""
    label: str = ""

    @property
    def link_says(self) -> str:
        return "See the finding." if self.anchor.startswith("finding") else "See which component."

    @property
    def whole(self) -> str:
        """All of it but the command, as text."""
        advice = f"Advice, untested: {self.advice}" if self.advice else ""
        label = f"{self.label}:" if self.label and self.command else ""
        return " ".join(part for part in (self.text, advice, label) if part)

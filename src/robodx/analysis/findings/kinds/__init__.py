"""Kinds of findings, one entry each: what is of that kind, what it says, and what to run next."""

"""Metamorphic testing: how far the path of a follow-up is from what its source lets expect, and what that says."""

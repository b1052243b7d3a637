"""Conditions over a world, the stages made of them, and events."""

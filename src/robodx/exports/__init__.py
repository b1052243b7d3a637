"""Runs in the forms of other tools: tables, W&B, rerun."""

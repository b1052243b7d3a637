"""Declarations only: one file per family."""

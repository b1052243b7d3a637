"""The sections of a report: one file each, found by themselves."""

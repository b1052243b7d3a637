"""Interventions, one file each: one factor of a situation set to another level."""

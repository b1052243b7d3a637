"""Attacks RoboDx as careless users, broken machines and hostile clients would: `make hostile`."""

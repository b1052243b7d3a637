"""Planted faults: the expert with exactly one deficit each, to prove that a diagnosis finds what is there."""

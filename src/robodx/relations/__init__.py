"""Metamorphic relations: what should become of a policy's path when one input is changed. One file each."""

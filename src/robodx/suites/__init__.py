"""Named generators of trials: one file each."""

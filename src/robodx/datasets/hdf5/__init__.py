"""HDF5 files of trajectories."""

"""RLDS as TensorFlow Datasets keeps it on disk, without TensorFlow."""

"""Demonstrations as data sets: one schema, readers and writers of the field's formats, and a PyTorch data set."""

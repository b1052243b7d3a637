"""Data set formats, one file each: how to recognise, read and write it."""

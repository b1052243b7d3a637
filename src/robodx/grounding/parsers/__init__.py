"""The scene parsers: one file each."""

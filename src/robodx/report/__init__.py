"""Pages for people to read, built from records alone: the report and the viewer."""

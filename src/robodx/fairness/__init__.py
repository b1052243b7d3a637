"""Whether a task can be seen at all: checks of rendered instances, pictures for people and for a model to judge."""

"""Verbs, one a file: how each is said and read, the stages it means, the expert's plan, and its gerund."""

"""The semantic grounding layer: an instruction made clearer by what is seen, before a policy is told it."""

"""Pictures and videos of episodes, rendered afterwards from stored states."""

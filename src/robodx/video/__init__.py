"""Pictures and films of episodes, drawn afterwards from stored states."""

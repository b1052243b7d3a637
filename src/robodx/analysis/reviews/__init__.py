"""Reviews by people: what is sampled, which labels there are, and how well people and the program agree."""

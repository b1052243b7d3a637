"""Instructions: what they mean and how they are said."""

"""Why an episode failed: what was unsafe, chosen wrongly or done badly, and which of it was the cause."""

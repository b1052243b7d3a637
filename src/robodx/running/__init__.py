"""From trials to episodes: the rollout, the workers that run it, and the records it leaves."""

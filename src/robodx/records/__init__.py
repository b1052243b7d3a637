"""What a run stores: trials, their design, episodes and trajectories. No simulator, no statistics."""

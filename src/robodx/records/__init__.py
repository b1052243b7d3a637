"""What is stored of a run: trials, why they were asked for, episodes and trajectories. No simulator, no statistics."""

"""Skills, and the expert that solves every task from privileged state."""

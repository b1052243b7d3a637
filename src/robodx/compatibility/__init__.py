"""Whether a policy fits: its replies are checked, and its conventions probed on demonstrations."""

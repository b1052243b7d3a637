"""Whether a policy's conventions fit: checks of its replies, and the probe on demonstrations."""

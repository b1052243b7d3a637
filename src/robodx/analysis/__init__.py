"""From episodes to numbers with intervals. Needs the records alone, never the simulator."""

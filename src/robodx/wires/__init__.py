"""How policy servers are spoken to, and served: messages, presets, one file a protocol. Knows no simulator."""

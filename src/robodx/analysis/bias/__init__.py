"""Visual bias: how far success depends on what should not matter, beyond chance, and where two factors interact."""

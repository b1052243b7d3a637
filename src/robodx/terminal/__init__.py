"""What a person sees at the terminal, and JSON for a program."""

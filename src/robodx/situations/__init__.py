"""What a situation is like and what it requires, read off its scene, words and events."""

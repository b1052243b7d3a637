"""What LeRobot's data set formats share: their features, their rows of numbers, their statistics."""

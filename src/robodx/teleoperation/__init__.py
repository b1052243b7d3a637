"""A person drives the robot from a browser, and what was solved becomes a data set."""

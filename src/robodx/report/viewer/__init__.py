"""The viewer: a local web page over the episodes of one run or of a folder of runs."""

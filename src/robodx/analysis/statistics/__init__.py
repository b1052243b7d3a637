"""Intervals, tests and resampling: functions of numbers that know nothing of episodes."""

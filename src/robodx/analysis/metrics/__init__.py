"""Metrics: plain functions of the table of episodes, one file an idea; `estimate` adds an interval to any of them."""

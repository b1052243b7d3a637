"""Errors of the user: the command line prints them in one line without a traceback."""

from __future__ import annotations


class UserError(Exception):
    """The message names what was given and what would be right; nothing was lost."""


class Stop(BaseException):
    """Nothing can go on: it ends the run, where what is an Exception ends an episode. What is finished is kept."""


class Leave(SystemExit):
    """A signal told this process to end: no code of a user's is the cause."""

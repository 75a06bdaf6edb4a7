"""Errors for a person."""


class Failure(Exception):
    """What went wrong, and what to do about it."""

"""Errors for the user."""


class Failure(Exception):
    """An error whose message says what went wrong and what to do."""

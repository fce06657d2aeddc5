"""Types of the arguments that `bench`, `search`, and `tune` share."""

from collections.abc import Mapping

from heterophily.core.arguments import MAX_SEED, PATH, TEXT, check_argument, check_integer, short_text
from heterophily.core.errors import HeterophilyError


def check_run_arguments(
    *, out: object, splits: object, seed: object, workers: object, threads: object, settings: object
) -> None:
    """Raise an error if an argument has the wrong type or is out of range.

    Examples
    --------
    >>> check_run_arguments(out="results", splits=0, seed=0, workers=1, threads=1, settings=None)
    Traceback (most recent call last):
    ...
    heterophily.core.errors.HeterophilyError: splits must be text or None, got 0
    """
    check_argument("out", out, PATH)
    check_argument("splits", splits, TEXT, optional=True)
    check_integer("seed", seed, low=0, high=MAX_SEED)
    check_integer("workers", workers, low=1)
    check_integer("threads", threads, low=0)
    if not isinstance(settings, Mapping | None):
        raise HeterophilyError(f"settings must be a dictionary or None, got {short_text(settings)}")

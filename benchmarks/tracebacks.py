"""Tracebacks as texts for the store."""

from __future__ import annotations

import re
import traceback

LONGEST = 4000
"""Characters of a traceback that are kept, from its end, where the exception is."""

FOLDERS = re.compile(r'File ".*?([^/\\"]+[/\\][^/\\"]+)"')
"""A path in a traceback; only its last folder and the file are kept."""


def calls(error: BaseException) -> str:
    """Return the traceback of an exception as Python prints it, shortened."""
    return shortened("".join(traceback.format_exception(error)))


def shortened(text: str) -> str:
    """Shorten the paths in a traceback, and cut its beginning if it is long.

    Examples
    --------
    >>> shortened('  File "/home/me/lib/solver/fit.py", line 3, in fit')
    '  File "solver/fit.py", line 3, in fit'
    """
    return FOLDERS.sub(r'File "\1"', text)[-LONGEST:]

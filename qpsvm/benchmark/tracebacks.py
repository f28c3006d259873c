"""Where something was raised, as text that a store keeps."""

from __future__ import annotations

import re
import traceback

LONGEST = 4000
"""Characters of a traceback that are kept, from its end: what was raised stands there."""

FOLDERS = re.compile(r'File ".*?([^/\\"]+[/\\][^/\\"]+)"')
"""A path; its last folder and the file tell enough, and the rest is somebody's own."""


def calls(error: BaseException) -> str:
    """The traceback of an exception as Python prints it."""
    return shortened("".join(traceback.format_exception(error)))


def shortened(text: str) -> str:
    """A traceback with short paths, cut at its beginning if it is long.

    Examples
    --------
    >>> shortened('  File "/home/me/lib/solver/fit.py", line 3, in fit')
    '  File "solver/fit.py", line 3, in fit'
    """
    return FOLDERS.sub(r'File "\1"', text)[-LONGEST:]

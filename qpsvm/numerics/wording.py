"""Words of messages: the article before the name of a type."""

from __future__ import annotations

SPELT_WITH_A_VOWEL = "AEFHILMNORSX"
"""Letters whose names begin with a vowel: an SVC, an NPZ file, but a QP."""

SPELT = ("rbf", "ndarray")
"""Names in lower case of which the first letter is spelt."""


def an(thing: object) -> str:
    """Return the name of a thing's type with its article; of a text, the text itself.

    Examples
    --------
    >>> an(3), an([]), an("SVC"), an("Pipeline"), an("rbf kernel"), an("NuSVC")
    ('an int', 'a list', 'an SVC', 'a Pipeline', 'an rbf kernel', 'a NuSVC')
    """
    name = thing if isinstance(thing, str) else type(thing).__name__
    is_spelt = name[:2].isupper() or name.startswith(SPELT)
    has_vowel = name[:1].upper() in (SPELT_WITH_A_VOWEL if is_spelt else "AEIOU")
    return f"{'an' if has_vowel else 'a'} {name}"

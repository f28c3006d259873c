"""Words of messages: the article before the name of a type."""

from __future__ import annotations

SPELT_WITH_A_VOWEL = "AEFHILMNORSX"
"""Letters whose names begin with a vowel: an SVC, an NPZ file, but a QP."""

SPELT = ("rbf", "ndarray")
"""Names in lower case of which the first letter is spelt."""


def an(thing: object) -> str:
    """Return the name of a thing's type with its article.

    Examples
    --------
    >>> an(3), an([]), an("yes")
    ('an int', 'a list', 'a str')
    >>> with_article("SVC"), with_article("NuSVC"), with_article("ndarray")
    ('an SVC', 'a NuSVC', 'an ndarray')
    """
    return with_article(type(thing).__name__)


def with_article(name: str) -> str:
    """Return a name with "a" or "an" before it, by how its beginning is spoken."""
    is_spelt = name[:2].isupper() or name.startswith(SPELT)
    has_vowel = name[:1].upper() in (SPELT_WITH_A_VOWEL if is_spelt else "AEIOU")
    return f"{'an' if has_vowel else 'a'} {name}"

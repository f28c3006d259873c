"""Strict JSON, without NaN and infinity.

They are written as the strings ``"NaN"``, ``"Infinity"`` and ``"-Infinity"``, which Python's
``float`` reads back.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import NoReturn, TypeAlias, cast, overload

import numpy as np

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
"""What a JSON text can say."""


@overload
def plain(value: Mapping[str, object]) -> dict[str, Json]: ...
@overload
def plain(value: object) -> Json: ...
def plain(value: object) -> Json:
    """Convert to numbers, strings, lists and dictionaries without NaN and infinities."""
    match value.item() if isinstance(value, np.generic) else value:
        case float(number) if not math.isfinite(number):
            return _name(number)
        case None | bool() | int() | float() | str() as known:
            return known
        case Mapping() as entries:
            return {str(key): plain(entry) for key, entry in entries.items()}
        case np.ndarray() as array:
            return plain(cast("object", array.tolist()))
        case list() | tuple() as sequence:
            return [plain(entry) for entry in sequence]
        case other:
            return str(other)


def dumps(value: object, *, indent: int | None = None) -> str:
    """The JSON text of an object that ``plain`` can convert."""
    return json.dumps(plain(value), indent=indent, allow_nan=False, ensure_ascii=False)


def loads(text: str) -> object:
    """Parse JSON; refuse NaN, Infinity and repeated names.

    Raises
    ------
    ValueError
        Not JSON (``json.JSONDecodeError``), one of these words, or a name that an object has twice:
        readers disagree about which of them counts.
    """
    return json.loads(text, parse_constant=_refuse, object_pairs_hook=_once)


def _name(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _once(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    entries: dict[str, Json] = {}
    for name, value in pairs:
        if name in entries:
            raise ValueError(f"{name[:40]!r} is given twice")
        entries[name] = value
    return entries


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")

"""Documents made of a few kinds of blocks, which every output format can write.

The blocks contain plain texts without markup; each format escapes the texts that it writes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

from qpsvm.plotting import Picture
from qpsvm.reports.grade import Grade
from qpsvm.reports.numbers import value

__all__ = [
    "Block",
    "Cell",
    "Document",
    "Figure",
    "Figures",
    "Formula",
    "Gallery",
    "Listing",
    "Listings",
    "Section",
    "Sentences",
    "Table",
    "TableColumn",
    "numbers",
    "words",
]

Item = TypeVar("Item")


@dataclass(frozen=True)
class Cell:
    """A table entry: its text, and the key it is sorted by.

    Attributes
    ----------
    text : str
    number : float or None
        What it is sorted by.
    verdict : str
        What its text says, if it is a verdict: "PASS", "FAIL", "skipped" or a grade's title.
    """

    text: str
    number: float | None = None
    verdict: str = ""


@dataclass(frozen=True)
class Sentences:
    """A block of sentences: the caller's remarks, the meaning of the gap, or notes.

    Attributes
    ----------
    role : "remarks", "meaning" or "notes"
    title : str
    sentences : tuple of str
    """

    kind: ClassVar[str] = "sentences"
    role: str
    title: str
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Figure:
    """A key figure of a report.

    Attributes
    ----------
    key : str
        Identifies it in the HTML.
    label : str
        What it is.
    text : str
        The formatted number.
    """

    key: str
    label: str
    text: str


@dataclass(frozen=True)
class Figures:
    """A block of the most important figures.

    Attributes
    ----------
    figures : tuple of Figure
        In the order in which they are shown.
    """

    kind: ClassVar[str] = "figures"
    figures: tuple[Figure, ...]

    @property
    def listings(self) -> tuple[Listing, ...]:
        """The figures as names and values, for formats without another way to show them."""
        return (Listing("", tuple((figure.label, figure.text) for figure in self.figures)),)


@dataclass(frozen=True)
class Listing:
    """A block of names and values.

    Attributes
    ----------
    title : str
    items : tuple of pairs of str
        Name and value of each line.
    """

    kind: ClassVar[str] = "listing"
    title: str
    items: tuple[tuple[str, str], ...]

    @property
    def listings(self) -> tuple[Listing, ...]:
        """Return this listing as a tuple of one."""
        return (self,)


@dataclass(frozen=True)
class Listings:
    """Several listings, shown side by side where there is room.

    Attributes
    ----------
    listings : tuple of Listing
        From left to right.
    title : str
        Of all together, where they are folded.
    detail : bool
        Left out of the short form on a terminal, and folded on a page.
    """

    kind: ClassVar[str] = "listings"
    listings: tuple[Listing, ...]
    title: str = ""
    detail: bool = False


@dataclass(frozen=True)
class TableColumn(Generic[Item]):
    """A column of a table: its title, and the function that makes a cell from an item.

    ``words`` and ``numbers`` make the usual ones.

    Attributes
    ----------
    title : str
        The cell at the top.
    entry : callable
        From an item, which is a row, to its Cell.
    numeric : bool
        Whether the cells are aligned as numbers.
    """

    title: str
    entry: Callable[[Item], Cell]
    numeric: bool = False


def words(title: str, text: Callable[[Item], str]) -> TableColumn[Item]:
    """Declare a text column.

    Parameters
    ----------
    title : str
        The heading.
    text : callable
        From an item to its text.

    Returns
    -------
    TableColumn
        Its cells have no sort key.

    Examples
    --------
    >>> column = words("Name", str.upper)
    >>> column.title, column.entry("rbf").text
    ('Name', 'RBF')
    """
    return TableColumn(title, lambda item: Cell(text(item)))


def numbers(
    title: str,
    number: Callable[[Item], float | None],
    written: Callable[[Any], str] = value,
) -> TableColumn[Item]:
    """Declare a numeric column, sorted by value and shown as formatted text.

    Parameters
    ----------
    title : str
        The heading.
    number : callable
        From an item to its number, or to None.
    written : callable
        From that number to text.

    Returns
    -------
    TableColumn
        The number is the sort key of its cell.

    Examples
    --------
    >>> cell = numbers("Half", lambda n: n / 2, "{:.2f}".format).entry(3)
    >>> cell.text, cell.number
    ('1.50', 1.5)
    """

    def entry(item: Item) -> Cell:
        found = number(item)
        return Cell(written(found), found)

    return TableColumn(title, entry, numeric=True)


@dataclass(frozen=True, eq=False)
class Table(Generic[Item]):
    """A table with a row for every item; the first column names the rows.

    Attributes
    ----------
    groups : sequence of collections of items
        Items of a group stay together when the table is sorted.
    columns : sequence of TableColumn
        From left to right.
    key : str
        For anchors.
    caption, title : str
        What the table shows, and its heading; no heading if empty.
    sortable : bool
        The reader may want another order.
    long : bool
        Worth folding.
    detail : bool
        Left out of the short form on a terminal.

    Examples
    --------
    >>> columns = [words("Name", str), numbers("Letters", len)]
    >>> table = Table([["ab", "c"]], columns, key="names", caption="Names")
    >>> [[cell.text for cell in row] for row in table.rows]
    [['ab', '2'], ['c', '1']]
    """

    kind: ClassVar[str] = "table"
    groups: Sequence[Collection[Item]]
    columns: Sequence[TableColumn[Item]]
    _: KW_ONLY
    key: str
    caption: str
    title: str = ""
    sortable: bool = True
    long: bool = False
    detail: bool = False

    @cached_property
    def bodies(self) -> tuple[tuple[tuple[Cell, ...], ...], ...]:
        """The rows of every group; a row has a cell for each column."""
        return tuple(
            tuple(tuple(column.entry(item) for column in self.columns) for item in items)
            for items in self.groups
        )

    @property
    def rows(self) -> tuple[tuple[Cell, ...], ...]:
        """The rows of all bodies."""
        return tuple(row for body in self.bodies for row in body)


@dataclass(frozen=True, eq=False)
class Gallery:
    """A block of pictures.

    Attributes
    ----------
    pictures : tuple of Picture
        In the order in which they are shown.
    """

    kind: ClassVar[str] = "gallery"
    pictures: tuple[Picture, ...]


@dataclass(frozen=True)
class Formula:
    """The program as a LaTeX formula.

    Attributes
    ----------
    latex : str
        A display formula with its delimiters.
    """

    kind: ClassVar[str] = "formula"
    latex: str


Block: TypeAlias = Sentences | Figures | Listing | Listings | Table[Any] | Gallery | Formula


@dataclass(frozen=True, eq=False)
class Section:
    """A section of a document: one report, or the comparison of backends.

    Attributes
    ----------
    key : str
        For anchors.
    title : str
    passed : bool or None
        Its verdict; None where it has none of its own.
    blocks : tuple of Block
    sections : tuple of Section
        Of the machines, where there are several.
    grade : Grade or None
        What is proven of it; shown instead of PASS and FAIL.
    """

    key: str
    title: str
    passed: bool | None
    blocks: tuple[Block, ...]
    sections: tuple[Section, ...] = ()
    grade: Grade | None = None

    @property
    def verdict(self) -> str:
        """The verdict beside the title: a grade, PASS, FAIL, or empty."""
        return _word(self.passed, self.grade)


@dataclass(frozen=True, eq=False)
class Document:
    """A page as title, verdict, sections and footer, independent of the format.

    Attributes
    ----------
    title, subtitle : str
    passed : bool or None
        None where nothing can pass or fail.
    verdict : str
        What that means, in a sentence.
    sections : tuple of Section
    footer : tuple of str
    grade : Grade or None
        What is proven; shown instead of PASS and FAIL.
    """

    title: str
    subtitle: str
    passed: bool | None
    verdict: str
    sections: tuple[Section, ...]
    footer: tuple[str, ...]
    grade: Grade | None = None

    @property
    def word(self) -> str:
        """The verdict in a word: a grade, PASS, FAIL, or empty."""
        return _word(self.passed, self.grade)


def _word(passed: bool | None, grade: Grade | None) -> str:
    if grade is not None:
        return grade.title
    return "" if passed is None else "PASS" if passed else "FAIL"


# --- for formats that are read from top to bottom ------------------------------------------------


def flat(sections: tuple[Section, ...], level: int = 2) -> list[tuple[int, Section]]:
    """List all sections in order with the level of their headings."""
    return [
        pair
        for section in sections
        for pair in ((level, section), *flat(section.sections, level + 1))
    ]

"""Data files as samples and labels: LIBSVM/svmlight, CSV, NPZ and Parquet.

Nothing is guessed about values: a column that is not one of numbers is an error that lists all
columns with what can be done about each. So is an integer that float64 does not have (some beyond
2^53); decimal fractions, and numbers with an exponent, are rounded to the nearest float64. Nothing
is ever unpickled.
"""

from qpsvm.datasets.loading import SUFFIXES, load
from qpsvm.datasets.samples import DataFile, Format

__all__ = ["SUFFIXES", "DataFile", "Format", "load"]

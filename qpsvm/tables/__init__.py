"""Tables with columns of any kind as numbers, and what was learnt for it from the training rows.

``inspection`` says what is the matter with a column, ``preparation`` turns columns into features.
"""

from qpsvm.tables.columns import CategoryColumn, NumberColumn, TableColumn
from qpsvm.tables.preparation import Preparation

__all__ = ["CategoryColumn", "NumberColumn", "Preparation", "TableColumn"]

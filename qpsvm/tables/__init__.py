"""Columns of tables as features, with the medians and categories learnt from training rows.

``qpsvm.datasets.load`` fits a ``Preparation`` and returns it; files of models hold it.
"""

from qpsvm.tables.preparation import CategoryColumn, NumberColumn, Preparation, TableColumn

__all__ = ["CategoryColumn", "NumberColumn", "Preparation", "TableColumn"]

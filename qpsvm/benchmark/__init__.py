"""Suites of SVM programs, solved by anything and compared at equal certified accuracy."""

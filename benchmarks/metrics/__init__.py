"""Figures from rows: pure functions of a store, with their uncertainty.

``times.times_to`` turns rows into times to a certified gap; comparisons are functions of these
times, each on programs that all of its contestants attempted (``tables.table_of``).
"""

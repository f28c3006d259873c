"""From an approximate solution of a program to one that is exact up to rounding."""

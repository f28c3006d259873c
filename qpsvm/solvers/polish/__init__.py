"""Polish: from an approximate solution of a program to one exact up to rounding."""

"""The programs of a suite as a test set for qpbenchmark: ``python export.py backends``."""

import sys

from support_vector_machines import PROGRAMS

from benchmarks.programs import write_test_set
from benchmarks.suite import load_suite

if __name__ == "__main__":
    names = write_test_set(load_suite(sys.argv[1]), PROGRAMS)
    print(f"{PROGRAMS}: {len(names)} programs")

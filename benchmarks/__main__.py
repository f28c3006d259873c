"""The command line of the benchmark: ``python -m benchmarks run | report | compare | list``."""

from benchmarks.cli import main

if __name__ == "__main__":
    main()

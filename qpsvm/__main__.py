"""The command line as a module: ``python -m qpsvm``."""

from qpsvm.cli import main

if __name__ == "__main__":
    main()

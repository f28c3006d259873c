"""Everything that takes part in a benchmark, one module each."""

from qpsvm.lazy import lazy_names, modules_of

__getattr__, __dir__ = lazy_names(__name__, modules_of(__name__, "base", "registry"))

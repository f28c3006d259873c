"""Suites of SVM programs, solved by anything and compared at equal certified accuracy.

Run by ``python -m benchmarks`` in a checkout (``docs/benchmark.md``). A guest of qpsvm: it uses
public names only, so that anybody could have written it.
"""

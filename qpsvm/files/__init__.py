"""Reading files without trusting them, and writing them completely or not at all.

No mathematics in sight: ``datasets``, ``models`` and ``reports`` say what is in the files.
"""

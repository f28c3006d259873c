"""Safe reading of untrusted files, and atomic writing.

No mathematics in sight: ``datasets``, ``models`` and ``reports`` say what is in the files.
"""

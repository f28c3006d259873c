"""Safe reading of untrusted files, and atomic writing.

Nothing here knows tables or machines: what a data file holds, ``datasets`` and ``tables`` say, and
what a model file holds, ``models``.
"""

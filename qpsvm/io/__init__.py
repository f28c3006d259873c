"""Safe reading of untrusted files, their tables as numbers, and atomic writing.

``datasets`` and ``tables`` are what users see of it. Nothing here knows machines: what a model file
holds, ``models`` says.
"""

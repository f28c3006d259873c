"""The package's own optimisers: active set, interior point, starting points, polish.

They know programs (``qpsvm.qp``) and nothing of SVMs; ``qpsvm.backends`` offers them by name.
"""

"""The package's own optimisers: active set, interior point, polish, methods of textbooks.

They know programs (``qpsvm.qp``) and nothing of SVMs; ``qpsvm.backends`` offers them by name.
"""

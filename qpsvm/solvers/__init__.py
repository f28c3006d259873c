"""The package's own optimisers: active set, linear machines, polish, methods of textbooks.

They know programs (``qpsvm.qp``) and nothing of SVMs; ``qpsvm.backends`` offers them by name.
"""

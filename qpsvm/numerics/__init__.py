"""General numerics: array checks, compensated sums, Cholesky factors, float32 samples, hashes."""

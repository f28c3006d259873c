"""The kernel engine: exact solutions, and no kernel matrix of all samples."""

"""The kernel engine: exact solutions, and no kernel matrix is ever stored."""

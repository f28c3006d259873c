"""Readers: one module per kind of model translates its numbers to qpsvm's programs."""

"""One module per kind of model: its numbers in terms of qpsvm's programs."""

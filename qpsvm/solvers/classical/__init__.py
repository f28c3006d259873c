"""The dual methods of the textbooks, one module per page: equation, source, and a short loop."""

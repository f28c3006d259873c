"""Classical dual methods, each with its equation, its source, and a short loop."""

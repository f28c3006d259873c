"""Classical dual methods, one module each: equation, source, and a short loop."""

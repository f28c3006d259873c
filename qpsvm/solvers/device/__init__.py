"""Kernel duals on a device: blocks of pairs, then Newton steps, with all vectors in its memory."""

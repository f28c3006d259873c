"""Machines with one decision function per class, learned together."""

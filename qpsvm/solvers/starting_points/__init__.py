"""Cheap approximate solutions that the interior-point method and the polish start from."""

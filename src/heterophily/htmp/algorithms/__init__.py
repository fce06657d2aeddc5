"""Algorithms that compute neighborhoods: hops, nearest neighbors, and structural similarity."""

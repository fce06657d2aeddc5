"""Graphs, sparse and dense operations, label and edge mathematics, files, and errors."""

"""Datasets: catalog, file formats, downloads, splits, synthetic graphs, and the paper's numbers."""

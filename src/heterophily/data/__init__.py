"""Datasets: catalog, file formats, store, splits, synthetic graphs and the audit."""

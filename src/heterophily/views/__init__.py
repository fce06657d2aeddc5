"""Figures and tables, drawn from numbers that were computed elsewhere."""

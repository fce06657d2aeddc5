"""Automatic model selection: a portfolio of candidates, a race under a budget, an ensemble, and calibration."""

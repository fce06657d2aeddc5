"""CMGNN: the method, its state, and its parts."""

from heterophily.models.cmgnn.method import CMGNN

__all__ = ["CMGNN"]

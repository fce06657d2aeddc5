"""X: rows divided by their norm, according to the setting `feature_norm`."""

import torch
from torch import Tensor

from heterophily.core.graph import Features
from heterophily.core.sparse import Matrix, segment_sum


def normalize_rows(features: Features, norm: str) -> Features:
    """Rows divided by their L1 or L2 length, or by their sum; rows of zeros stay zero."""
    if norm == "none":
        return features
    if isinstance(features, Matrix):
        totals = segment_sum(features.pattern, _powers(features.values, norm))
        scale = _lengths(totals, norm).index_select(0, features.pattern.rows)
        return features.pattern * (features.values / scale)
    return features / _lengths(_powers(features, norm).sum(dim=1), norm).unsqueeze(1)


def _powers(values: Tensor, norm: str) -> Tensor:
    return {"l1": values.abs(), "l2": values.square(), "sum": values}[norm]


def _lengths(totals: Tensor, norm: str) -> Tensor:
    lengths = totals.sqrt() if norm == "l2" else totals
    return torch.where(lengths == 0, 1.0, lengths)

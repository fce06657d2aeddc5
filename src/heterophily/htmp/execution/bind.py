"""Operators that depend only on the graph are computed once per graph, and equal operators share one product.

B [U_1 ‖ U_2] = [B U_1 ‖ B U_2]
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from heterophily.core.sparse import Matrix, Pattern
from heterophily.htmp.channel import ComplementOperator, IdentityOperator, Operator


def apply_operators(operators: Sequence[Operator], states: Sequence[Tensor]) -> list[Tensor]:
    """Apply each operator to its state; operators with the same matrix share one product."""
    matrices = [op.matrix if isinstance(op, ComplementOperator) else op for op in operators]
    products: dict[int, Tensor] = {}
    for i, matrix in enumerate(matrices):
        if i in products or not isinstance(matrix, Matrix | Pattern):
            continue
        group = [j for j in range(i, len(matrices)) if matrices[j] is matrix and states[j].dim() == 2]
        if len(group) > 1:
            product = matrix @ torch.cat([states[j] for j in group], dim=1)
            parts = product.split([states[j].shape[1] for j in group], dim=1)
            products |= dict(zip(group, parts, strict=True))
    return [
        _apply(operator, state, products.get(i))
        for i, (operator, state) in enumerate(zip(operators, states, strict=True))
    ]


def _apply(operator: Operator, state: Tensor, product: Tensor | None) -> Tensor:
    if isinstance(operator, IdentityOperator):
        return state
    if product is None:
        return operator @ state
    return state - product if isinstance(operator, ComplementOperator) else product

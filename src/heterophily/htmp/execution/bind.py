"""Operators that depend only on the graph are computed once per graph, and equal operators share products.

B [U_1 ‖ U_2] = [B U_1 ‖ B U_2], B^k U = B (B^(k-1) U)
"""

from collections import defaultdict
from collections.abc import Sequence

import torch
from torch import Tensor

from heterophily.core.sparse import Matrix, Pattern
from heterophily.htmp.channel import ComplementOperator, IdentityOperator, Operator, PowerOperator


def apply_operators(operators: Sequence[Operator], states: Sequence[Tensor]) -> list[Tensor]:
    """Apply each operator to its state; operators with the same matrix share one product."""
    matrices = [op.matrix if isinstance(op, ComplementOperator) else op for op in operators]
    products = _powers(operators, states)
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


def _powers(operators: Sequence[Operator], states: Sequence[Tensor]) -> dict[int, Tensor]:
    """Return B^k U by channel, with max(k) products for all powers k of one matrix and one state."""
    groups: dict[tuple[int, int], list[int]] = defaultdict(list)
    for i, operator in enumerate(operators):
        matrix = operator.matrix if isinstance(operator, PowerOperator) else operator
        groups[id(matrix), id(states[i])].append(i)
    products: dict[int, Tensor] = {}
    for members in groups.values():
        times = {i: op.times if isinstance(op := operators[i], PowerOperator) else 1 for i in members}
        if len(members) == 1 or max(times.values()) == 1:
            continue
        state, done = states[members[0]], 0
        first = operators[members[0]]
        matrix = first.matrix if isinstance(first, PowerOperator) else first
        for i in sorted(members, key=times.__getitem__):
            for _ in range(times[i] - done):
                state = matrix @ state
            products[i], done = state, times[i]
    return products

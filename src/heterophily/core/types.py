"""Type aliases that several tiers share."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

# A value of a setting, as stored in a TOML file. Tuples are written as lists.
Value: TypeAlias = "bool | int | float | str | tuple[Value, ...] | None"
Settings: TypeAlias = Mapping[str, Value]

# A value that `json.dumps` accepts.
Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
JsonObject: TypeAlias = dict[str, Json]

Array: TypeAlias = NDArray[np.generic]
BoolArray: TypeAlias = NDArray[np.bool_]
IntArray: TypeAlias = NDArray[np.int64]
FloatArray: TypeAlias = NDArray[np.floating]

PathLike: TypeAlias = Path | str

# The first argument of `torch.autograd.Function.forward` and `backward`, to which any attribute can be added.
AutogradContext: TypeAlias = Any

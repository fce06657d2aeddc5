"""The studies of the paper. Each one is a `Study` in a module with its name."""

from heterophily.studies import (
    ablation,
    compatibility,
    degrees,
    desired,
    overlap,
    runtime,
    synthetic,
)
from heterophily.studies.study import Study

_MODULES = (ablation, degrees, compatibility, desired, synthetic, overlap, runtime)
STUDIES: dict[str, Study] = {module.STUDY.name: module.STUDY for module in _MODULES}

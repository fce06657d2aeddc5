"""The studies of the paper. Each module defines one `Study`."""

from typing import Any

from heterophily.studies import ablation, compatibility, degrees, desired, overlap, runtime, synthetic
from heterophily.studies.study import Study

_MODULES = (ablation, degrees, compatibility, desired, synthetic, overlap, runtime)
AnyStudy = Study[Any]
STUDIES: dict[str, AnyStudy] = {module.STUDY.name: module.STUDY for module in _MODULES}

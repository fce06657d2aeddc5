"""Search problems: a space, and the candidate that suggested values describe.

`candidate(suggest)` requests one value after another by name. The same function serves a running trial, for
which the sampler suggests values, and a finished trial, which has stored them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from heterophily.core.errors import HeterophilyError
from heterophily.core.spaces import Choice, Range, Space, setting_infos
from heterophily.core.types import Settings, Value
from heterophily.htmp.identity import expression, identity_text, user_code
from heterophily.htmp.method import Method, MethodLike, make_method, search_space, settings_of
from heterophily.models import Model, find_method

Suggest = Callable[[str], Value]


@dataclass(frozen=True)
class Candidate:
    """A method to train, with the settings and the preset that it was made from."""

    method: Method
    settings: Settings = field(default_factory=dict)
    preset: str = "published"
    source: str = ""  # name or file from which other processes load the method, if there is one

    @property
    def model(self) -> Model:
        """The method as other processes can load it."""
        return self.source or self.method

    @property
    def values(self) -> dict[str, Value]:
        """Settings of a job, with the preset of a method that is loaded from its source."""
        known = setting_infos(type(self.method))
        settings = {name: value for name, value in self.settings.items() if name in known}
        return {"preset": self.preset, **settings} if self.source else settings


class SearchProblem(Protocol):
    """Something that can be searched."""

    @property
    def name(self) -> str:
        """The name of the model."""

    @property
    def identity(self) -> str:
        """A text that is different for every search problem."""

    @property
    def space(self) -> Mapping[str, Space]:
        """The values to try for each name."""

    @property
    def initial_points(self) -> list[dict[str, Value]]:
        """The first points that the search tries."""

    def candidate(self, suggest: Suggest) -> Candidate:
        """Return the candidate that suggested values describe."""


@dataclass(frozen=True)
class SettingsSearch:
    """The settings of one method: `base` and `fixed` stay, the rest of its space is searched."""

    model: Model
    base: Settings = field(default_factory=dict)  # committed settings and preset
    fixed: Settings = field(default_factory=dict)  # set by the user

    def __post_init__(self) -> None:
        method = self.method  # rejects unknown settings
        if not self.space:
            reason = "all of its space is fixed" if search_space(self.cls) else "it has no space"
            raise HeterophilyError(f"nothing to search for {method.name}: {reason}")

    @property
    def cls(self) -> MethodLike:
        """The method class; one from a file is loaded in every process, because it cannot be sent."""
        return find_method(self.model)

    @property
    def method(self) -> Method:
        """The method with the settings that are not searched."""
        return make_method(self.cls, self.given)

    @property
    def name(self) -> str:
        """The name of the method."""
        return self.cls.name

    @property
    def identity(self) -> str:
        """The default method, its space, and the code of parts that are not in the library."""
        default = make_method(self.cls)
        space = expression(search_space(self.cls))
        return "\n".join([identity_text(default), space, *user_code(default)])

    @property
    def given(self) -> dict[str, Value]:
        """Settings that are not searched, and the preset."""
        return {**self.base, **self.fixed}

    @property
    def _initial_point(self) -> dict[str, Value]:
        settings = settings_of(self.method)
        return {name: settings[name] for name in search_space(self.cls) if name not in self.fixed}

    @property
    def space(self) -> dict[str, Space]:
        """The method's space without fixed settings, widened to include the committed settings."""
        spaces = search_space(self.cls)
        return {name: widen_space(spaces[name], value) for name, value in self._initial_point.items()}

    @property
    def initial_points(self) -> list[dict[str, Value]]:
        """The committed settings, or the defaults."""
        return [self._initial_point]

    def candidate(self, suggest: Suggest) -> Candidate:
        """Return the method with a value for every setting of the space."""
        settings = {**self.given, **{name: suggest(name) for name in self.space}}
        method = make_method(self.cls, settings)
        preset = str(settings.pop("preset", "published"))
        source = str(self.model) if isinstance(self.model, str | Path) else ""
        return Candidate(method, settings, preset, source)


def widen_space(space: Space, value: Value) -> Space:
    """Return the space, widened if a value is outside."""
    if isinstance(space, Choice):
        return space if value in space.values else Choice(*space.values, value)
    assert isinstance(value, int | float)
    low, high = min(space.low, value), max(space.high, value)
    return Range(low, high, log=space.log and low > 0)  # zero is not on a logarithmic scale


def round_value(space: Space, value: Value) -> Value:
    """Round numbers of a range to three digits, which is precise enough for a search."""
    return float(f"{value:.3g}") if isinstance(space, Range) else value


def check_choice(name: str, space: Space, value: Value) -> None:
    """Raise an error if a value is not in the space."""
    if isinstance(space, Choice) and value not in space.values:
        known = ", ".join(map(str, space.values))
        raise HeterophilyError(f"{name} must be one of {known}, got {value!r}")
    if isinstance(space, Range) and not isinstance(value, int | float):
        raise HeterophilyError(f"{name} must be a number, got {value!r}")

"""What a search tries: a space, and the candidate that answers to its questions make.

`candidate(ask)` asks for one value after another by name. The same function serves a trial, which asks
the sampler, and a finished trial, which asks its record.
"""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from heterophily.core.errors import HeterophilyError
from heterophily.core.spaces import Choice, LogUniform, Uniform
from heterophily.htmp.recipe import Recipe
from heterophily.models import find_recipe
from heterophily.search.source import whole_identity

Ask = Callable[[str], Any]
Space = Choice | Uniform


@dataclass(frozen=True)
class Candidate:
    """A recipe with the settings to train it with."""

    recipe: Recipe
    settings: Mapping[str, Any] = field(default_factory=dict)
    preset: str = "published"
    source: str = ""  # name or file from which other processes load the recipe, if there is one

    @property
    def model(self) -> str | Recipe:
        """The recipe as other processes can load it."""
        return self.source or self.recipe

    @property
    def values(self) -> dict[str, Any]:
        """Settings and preset, as `train` takes them."""
        return {"preset": self.preset, **self.settings}


class SearchProblem(Protocol):
    """What can be searched."""

    @property
    def name(self) -> str:
        """The model as the user calls it."""

    @property
    def identity(self) -> str:
        """A text that changes whenever the search would be another one."""

    @property
    def space(self) -> Mapping[str, Space]:
        """What may be tried for each name."""

    @property
    def starts(self) -> list[dict[str, Any]]:
        """Answers with which the search begins."""

    def candidate(self, ask: Ask) -> Candidate:
        """What the answers make."""


@dataclass(frozen=True)
class SettingsSearch:
    """The settings of one recipe: `base` and `fixed` stay, the rest of its space is searched."""

    model: str | Recipe
    base: Mapping[str, Any] = field(default_factory=dict)  # committed settings and preset
    fixed: Mapping[str, Any] = field(default_factory=dict)  # what the user said

    def __post_init__(self) -> None:
        decided = self.recipe.with_settings(**self.given)  # refuses unknown settings at once
        if not self.space:
            reason = "all of its space is fixed" if self.recipe.space else "it has no space"
            raise HeterophilyError(f"nothing to search for {decided.name}: {reason}")

    @property
    def recipe(self) -> Recipe:
        """The recipe; one from a file is read again in every process, since its parts cannot travel."""
        return find_recipe(self.model)

    @property
    def name(self) -> str:
        """The name of the recipe."""
        return self.recipe.name

    @property
    def identity(self) -> str:
        """The recipe with its space, without the words around it, and the code of parts that are not ours."""
        return whole_identity(self.recipe)

    @property
    def given(self) -> dict[str, Any]:
        """Settings that are not searched, and the preset."""
        return {**self.base, **self.fixed}

    @property
    def _start(self) -> dict[str, Any]:
        settings = self.recipe.with_settings(**self.given).settings
        return {name: settings[name] for name in self.recipe.space if name not in self.fixed}

    @property
    def space(self) -> dict[str, Space]:
        """The recipe's space without what is fixed, wide enough for the committed settings."""
        return {name: widen_space(self.recipe.space[name], v) for name, v in self._start.items()}

    @property
    def starts(self) -> list[dict[str, Any]]:
        """The committed settings, or the defaults."""
        return [self._start]

    def candidate(self, ask: Ask) -> Candidate:
        """The recipe with an answer for every setting of the space."""
        settings = {**self.given, **{name: ask(name) for name in self.space}}
        preset = str(settings.pop("preset", "published"))
        source = self.model if isinstance(self.model, str) else ""
        return Candidate(self.recipe, settings, preset, source)


def widen_space(space: Any, value: Any) -> Space:
    """The space, widened where a value lies outside."""
    if isinstance(space, Choice):
        return space if value in space.values else Choice(*space.values, value)
    low, high = min(space.low, value), max(space.high, value)
    # Zero is on no logarithmic scale.
    kind = Uniform if low <= 0 and isinstance(space, LogUniform) else type(space)
    return space if space.low <= value <= space.high else kind(low, high)


def round_value(space: Space, value: Any) -> Any:
    """A value as it is tried: numbers of a range with three digits, which is all that a search can tell."""
    return float(f"{value:.3g}") if isinstance(space, Uniform) else value


def check_choice(name: str, space: Space, value: Any) -> None:
    """Raise an error unless the space has the value."""
    if isinstance(space, Choice) and value not in space.values:
        known = ", ".join(map(str, space.values))
        raise HeterophilyError(f"{name} must be one of {known}, got {value!r}")
    if isinstance(space, Uniform) and not isinstance(value, int | float):
        raise HeterophilyError(f"{name} must be a number, got {value!r}")


def with_defaults(candidate: Candidate, **changes: Any) -> Recipe:
    """The candidate's recipe with its settings as defaults, and other fields changed."""
    settings = {**candidate.recipe.settings, **candidate.settings}
    return dataclasses.replace(candidate.recipe, settings=settings, **changes)

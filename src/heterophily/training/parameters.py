"""Parameters of an estimator, of which the settings of its method are a part."""

from typing import Self

from sklearn.base import BaseEstimator
from typing_extensions import override

from heterophily.core.errors import HeterophilyError, unknown_name
from heterophily.core.spaces import setting_infos
from heterophily.core.types import Value
from heterophily.htmp.method import Method, make_method
from heterophily.models import Model, find_method
from heterophily.training.auto.portfolio import read_portfolio

AUTO = "auto"  # the model that is the best of several, or an ensemble of them


def is_auto(model: object) -> bool:
    """Return whether a model is `auto`."""
    return isinstance(model, str) and model == AUTO


class MethodParameters(BaseEstimator):  # type: ignore[misc]
    """Estimator that stores the settings of its method as parameters, in addition to those of its constructor.

    Which settings exist depends on the parameter `model`. They are attributes, like all parameters.
    """

    model: Model
    preset: str

    @property
    def settings(self) -> dict[str, Value]:
        """The given settings of the method."""
        named = self._get_param_names()
        return {
            name: value
            for name, value in vars(self).items()
            if name not in named and not name.endswith("_") and not name.startswith("_")
        }

    @property
    def method(self) -> Method:
        """The method with its preset and settings."""
        if is_auto(self.model):
            raise HeterophilyError("auto has a method only after fit; fit it, or choose a model")
        return make_method(find_method(self.model), self.settings, preset=self.preset)

    @override
    def get_params(self, deep: bool = True) -> dict[str, object]:
        return {**super().get_params(deep=deep), **self.settings}

    @override
    def set_params(self, **params: object) -> Self:
        known = {*self._get_param_names(), *self.settings, *_setting_names(params.get("model", self.model))}
        for name in params:
            if name not in known:
                raise unknown_name(f"parameter of {type(self).__name__}", name, known)
        self.__dict__.update(params)
        return self


def _setting_names(model: object) -> set[str]:
    """Return the settings of a method, or of all candidates of `auto`. `fit` rejects an unknown method."""
    if is_auto(model):
        methods = {candidate.method for candidate in read_portfolio()}
        return set().union(*(_setting_names(name) for name in methods))
    try:
        method = find_method(model)  # type: ignore[arg-type]
    except HeterophilyError:
        return set()
    kind = method if isinstance(method, type) else type(method)
    return set(setting_infos(kind)) if issubclass(kind, Method) else set()

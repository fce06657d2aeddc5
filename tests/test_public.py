"""Every public name can be imported, is documented, and has an example, which runs as a doctest."""

import inspect

import pytest

import heterophily

CALLABLE = [name for name in heterophily.__all__ if callable(getattr(heterophily, name))]
# from_pyg is missing, because PyTorch Geometric is an optional dependency.
CONSTRUCTORS = ["from_edges", "from_files", "from_networkx", "from_scipy", "load"]


@pytest.mark.parametrize("name", CALLABLE)
def test_public_names_have_an_example(name):
    documentation = inspect.getdoc(getattr(heterophily, name)) or ""
    assert "Examples\n--------\n>>> " in documentation


@pytest.mark.parametrize("name", CONSTRUCTORS)
def test_constructors_of_graphs_have_an_example(name):
    assert ">>> " in inspect.getdoc(getattr(heterophily.Graph, name))


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="module 'heterophily' has no attribute 'Grpah'"):
        heterophily.Grpah  # noqa: B018
    assert set(heterophily.__all__) <= set(dir(heterophily))

"""Stored results are read again, and broken files are recomputed."""

import pytest
import torch

from heterophily.core.files import cache_folder
from heterophily.core.sparse import Matrix, Pattern
from heterophily.htmp.algorithms import cache
from heterophily.htmp.algorithms.cache import cached, stored_at


@pytest.fixture
def pattern():
    return Pattern.from_edges([0, 0, 2], [1, 3, 0], shape=(3, 4))


@pytest.fixture
def counted(pattern):
    """A computation that counts its calls; two of its results share memory."""

    def compute():
        compute.calls += 1
        matrix = pattern * torch.tensor([1.0, 2.5, -1.0])
        positions = torch.arange(6.0).reshape(3, 2).T  # not contiguous
        return {"graph.0": pattern, "weights": matrix, "positions": positions}

    compute.calls = 0
    return compute


def assert_same(left, right):
    assert type(left) is type(right)
    if isinstance(left, torch.Tensor):
        assert left.equal(right)
        return
    assert left.shape == right.shape
    if isinstance(left, Matrix):
        assert left.values.equal(right.values)
        left, right = left.pattern, right.pattern
    assert left.indptr.equal(right.indptr)
    assert left.indices.equal(right.indices)
    assert left.indices.dtype == right.indices.dtype


def test_what_is_stored_comes_back(counted):
    first, second = (cached("abc", "key", counted) for _ in range(2))
    assert counted.calls == 1
    assert list(first) == list(second) == ["graph.0", "weights", "positions"]
    for name, item in first.items():
        assert_same(item, second[name])


def test_repeated_and_missing_entries_come_back():
    multigraph = Pattern.from_arrays([0, 2], [0, 0], n_columns=1)
    empty = Pattern.from_edges([], [], shape=(2, 2)) * torch.zeros(0)
    for _ in range(2):
        found = cached("abc", "odd", lambda: {"multi": multigraph, "empty": empty})
        assert_same(found["multi"], multigraph)
        assert_same(found["empty"], empty)


def test_graphs_keys_and_versions_are_apart(counted, monkeypatch):
    paths = {stored_at(checksum, key) for checksum in ("a", "ab") for key in ("c", "bc")}
    monkeypatch.setattr(cache, "VERSION", cache.VERSION + 1)
    paths.add(stored_at("a", "c"))
    assert len(paths) == 5
    assert {path.parent for path in paths} == {cache_folder() / "neighborhoods"}


@pytest.mark.parametrize("content", [b"", b"no such format", None])
def test_a_broken_file_is_computed_anew(content, counted):
    cached("abc", "key", counted)
    path = stored_at("abc", "key")
    path.write_bytes(path.read_bytes()[:-5] if content is None else content)
    for _ in range(2):
        assert_same(cached("abc", "key", counted)["weights"], counted()["weights"])
        counted.calls -= 1
    assert counted.calls == 2
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_file_of_something_else_is_computed_anew(counted):
    from safetensors.torch import save_file

    path = stored_at("abc", "key")
    path.parent.mkdir(parents=True)
    for metadata in (None, {"widths": '{"weights": 4}'}, {"widths": "[1]"}):
        save_file({"x": torch.zeros(2)}, path, metadata=metadata)
        assert set(cached("abc", "key", counted)) == {"graph.0", "weights", "positions"}
    assert counted.calls == 3


def test_the_cache_can_be_turned_off(counted, monkeypatch):
    monkeypatch.setenv("HETEROPHILY_CACHE", "off")
    for _ in range(2):
        cached("abc", "key", counted)
    assert counted.calls == 2
    assert not stored_at("abc", "key").exists()


def test_a_folder_that_cannot_be_written_is_done_without(counted):
    folder = cache_folder()
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.write_text("in the way")
    for _ in range(2):
        assert_same(cached("abc", "key", counted)["weights"], counted()["weights"])
    assert counted.calls == 4

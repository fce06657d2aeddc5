import numpy as np
import pytest
import torch

from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import PARTS, Graph
from heterophily.data.catalog import lookup
from heterophily.data.splits import draw_split, official_splits, random_splits
from heterophily.data.store import VARIABLE, find

# The paper's table of datasets: nodes of training, validation and test set.
SIZES = {
    "roman-empire": (10_877, 7_251, 4_534),
    "amazon-ratings": (11_756, 7_837, 4_899),
    "chameleon-f": (427, 284, 179),
    "squirrel-f": (1_067, 711, 445),
    "actor": (3_648, 2_432, 1_520),
    "flickr": (3_636, 2_424, 1_515),
    "blogcatalog": (2_494, 1_662, 1_040),
    "wikics": (5_616, 3_744, 2_341),
    "pubmed": (9_463, 6_310, 3_944),
    "photo": (3_672, 2_448, 1_530),
}


def nodes(labels):
    return Graph.from_edges([], labels=labels)


def sizes(split):
    return tuple(len(split.parts[part]) for part in PARTS)


def everyone(split):
    return torch.cat(list(split.parts.values())).sort().values.tolist()


def equal(a, b):
    return all(torch.equal(a.parts[part], b.parts[part]) for part in PARTS)


# The official splits of Pubmed are those of Geom-GCN, which rounds otherwise.
@pytest.mark.parametrize("name", sorted(SIZES.keys() - {"pubmed"}))
def test_random_splits_have_the_sizes_of_the_paper(name):
    n = lookup(name).n_nodes
    split = draw_split(nodes([0] * n), seed=0)
    assert sizes(split) == SIZES[name]
    assert everyone(split) == list(range(n))


@pytest.mark.parametrize("n", [5, 6, 7, 99, 100, 175])
def test_training_and_validation_sizes_are_rounded_down(n):
    train, val = 48 * n // 100, 32 * n // 100
    assert sizes(draw_split(nodes([0] * n), seed=3)) == (train, val, n - train - val)


def test_only_labeled_nodes_are_split():
    labels = np.where(np.arange(200) % 3 == 0, -1, 1)
    for split in random_splits(nodes(labels)).values():
        assert everyone(split) == np.flatnonzero(labels >= 0).tolist()


def test_the_seed_and_nothing_else_decides():
    graph = nodes([0, 1] * 50)
    assert equal(draw_split(graph, seed=4), draw_split(nodes([1] * 100), seed=4))
    drawn = random_splits(graph, seed=4)
    assert list(drawn) == [str(i) for i in range(10)]
    assert equal(drawn["3"], draw_split(graph, seed=7))
    assert len({tuple(split.train.tolist()) for split in drawn.values()}) == 10


def test_every_node_is_trained_on_equally_often():
    drawn = random_splits(nodes([0] * 50), count=2_000).values()
    share = np.mean([split.mask("train", 50).numpy() for split in drawn], axis=0)
    z = (share - 0.48) / np.sqrt(0.48 * 0.52 / 2_000)
    assert np.abs(z).max() < 4.5  # 50 two-sided tests at a level of 1e-5 each


def test_a_random_split_says_so():
    assert draw_split(nodes([0] * 9), seed=5).origin == "random, seed 5"


def test_fewer_than_five_labeled_nodes_cannot_be_split():
    with pytest.raises(HeterophilyError, match="at least 5 labeled nodes, but graph has 4"):
        draw_split(nodes([0, 1, 0, 1, -1, -1]), seed=0)


def masks(n=20, count=10):
    part = np.stack([np.random.default_rng(s).permutation(np.arange(n) % 3) for s in range(count)])
    return {name: part == i for i, name in enumerate(PARTS)}


def test_official_splits_are_read_from_masks(tmp_path):
    np.savez(tmp_path / "splits.npz", **masks())
    splits = official_splits(tmp_path / "splits.npz", 20)
    assert list(splits) == [str(i) for i in range(10)]
    for i, split in enumerate(splits.values()):
        assert split.origin == "official"
        for part, mask in masks().items():
            assert split.parts[part].tolist() == np.flatnonzero(mask[i]).tolist()


@pytest.mark.parametrize(
    "arrays",
    [
        {"x": np.arange(3)},
        {**masks(), "val": np.array([{}])},
        masks(n=19),
        masks(n=21),
        masks(count=9),
        {key: mask.astype(int) for key, mask in masks().items()},
    ],
    ids=["no masks", "objects", "too short", "too long", "too few", "numbers"],
)
def test_a_wrong_file_of_splits_is_one_clear_error(tmp_path, arrays):
    np.savez(tmp_path / "splits.npz", **arrays)
    with pytest.raises(HeterophilyError, match=r"splits\.npz .* masks .* download it again"):
        official_splits(tmp_path / "splits.npz", 20)


def test_a_broken_file_of_splits_is_one_clear_error(tmp_path):
    (tmp_path / "splits.npz").write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(HeterophilyError, match="download it again"):
        official_splits(tmp_path / "splits.npz", 20)


@pytest.mark.real
@pytest.mark.parametrize("name", SIZES)
def test_the_official_splits_have_the_papers_sizes_and_partition_the_nodes(name):
    path = find(lookup(name), "splits.npz")
    if path is None:
        pytest.skip(f"{VARIABLE} has no official splits of {name}")
    n = lookup(name).n_nodes
    splits = official_splits(path, n)
    assert [sizes(split) for split in splits.values()] == [SIZES[name]] * 10
    assert all(everyone(split) == list(range(n)) for split in splits.values())
    assert len({tuple(split.train.tolist()) for split in splits.values()}) == 10


def test_stratified_splits_have_all_classes_in_the_same_shares():
    graph = nodes(np.repeat([0, 1, 2, 3], [100, 50, 3, 2]))
    for split in random_splits(graph, count=3, stratify=True).values():
        assert everyone(split) == list(range(155))
        counts = [torch.bincount(graph.labels[split.parts[part]], minlength=4).tolist() for part in PARTS]
        assert counts == [[48, 24, 1, 1], [31, 16, 1, 1], [21, 10, 1, 0]]
    assert not equal(*random_splits(graph, count=2, stratify=True).values())

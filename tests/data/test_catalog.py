import re
from dataclasses import replace
from urllib.parse import urlparse

import pytest

from heterophily.core.errors import HeterophilyError
from heterophily.data.catalog import CATALOG, lookup, read_catalog
from heterophily.data.formats import FORMATS

PAPER = (
    "roman-empire",
    "amazon-ratings",
    "chameleon-f",
    "squirrel-f",
    "actor",
    "flickr",
    "blogcatalog",
    "wikics",
    "pubmed",
    "photo",
)
rows = pytest.mark.parametrize("row", CATALOG.values(), ids=CATALOG)


MORE = ("cora", "citeseer", "tolokers", "chameleon", "wisconsin", "computers", "cora-ml")


def test_the_catalog_has_the_ten_datasets_of_the_paper_and_more():
    assert tuple(CATALOG) == (*PAPER, *MORE)
    assert tuple(name for name, row in CATALOG.items() if row.in_paper) == PAPER


@rows
def test_a_row_is_stored_under_its_own_name(row):
    assert CATALOG[row.name] is lookup(row.name) is row


@rows
def test_a_row_names_its_source_and_a_known_format(row):
    assert row.citation
    assert row.license
    assert row.about
    assert row.format in FORMATS


@rows
def test_every_file_has_an_address_that_ends_in_its_name_and_one_digest(row):
    assert row.files
    for file in row.files:
        address = urlparse(file.url)
        assert address.scheme == "https"
        assert address.path.rsplit("/", 1)[1] == file.name
        assert bool(file.sha256) != bool(file.git_blob)
        assert re.fullmatch("[0-9a-f]{64}", file.sha256) or re.fullmatch("[0-9a-f]{40}", file.git_blob)


def test_no_two_files_share_a_digest():
    digests = [f.sha256 or f.git_blob for row in CATALOG.values() for f in row.files]
    assert len(set(digests)) == len(digests)


@pytest.mark.parametrize(("counts", "edges"), [("stored", 3), ("symmetric", 4), (None, None)])
def test_the_paper_counts_edges_as_stored_or_symmetrized(tiny, counts, edges):
    row = replace(tiny, n_stored=3, n_symmetric=4, paper_counts=counts)
    assert row.paper_edges == edges
    assert row.in_paper == (counts is not None)


def test_a_misspelled_name_is_answered_with_the_closest():
    with pytest.raises(HeterophilyError, match='unknown dataset "chamelon-f"; did you mean "chameleon-f"'):
        lookup("chamelon-f")


ENTRY = """
[tiny]
url = "https://example.org"
format = "matlab"
n_nodes = 3
n_symmetric = 4
n_features = 2
n_classes = 2
edge_homophily = 0.5
citation = "nobody"
license = "MIT"
files = { "a.mat" = "git_blob:0123456789012345678901234567890123456789" }
"""


def test_a_table_with_the_required_keys_is_a_dataset(tmp_path):
    (tmp_path / "c.toml").write_text(ENTRY)
    row = read_catalog(tmp_path / "c.toml")["tiny"]
    assert row.name == "tiny"
    assert row.undirected
    assert not row.in_paper
    assert [(f.name, f.url, len(f.git_blob)) for f in row.files] == [("a.mat", "https://example.org/a.mat", 40)]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("n_nodes = 3", "n_nodes = 3.5", "n_nodes of [tiny] must be int, got 3.5"),
        ("n_nodes = 3", "n_nodes = true", "n_nodes of [tiny] must be int, got True"),
        ("n_nodes = 3", "", "[tiny] must have a value for n_nodes"),
        ("n_nodes", "n_node", 'unknown key of [tiny] "n_node"; did you mean "n_nodes"?'),
        ("n_nodes", 'paper_counts = "all"\nn_nodes', "must be 'stored' or 'symmetric', got 'all'"),
        ("git_blob:", "md5:", "must give sha256:... or git_blob:... for a.mat, got 'md5:"),
        ("url", "address", "[tiny] must have a url and a table [tiny.files]"),
        ("[tiny]", "tiny = 1\n[big]", "expected one [table] per dataset, got tiny = 1"),
        ("[tiny]", "[tiny", "invalid catalog c.toml: Expected"),
    ],
)
def test_an_invalid_catalog_is_reported(tmp_path, old, new, problem):
    (tmp_path / "c.toml").write_text(ENTRY.replace(old, new, 1))
    with pytest.raises(HeterophilyError, match=re.escape(problem)):
        read_catalog(tmp_path / "c.toml")

import re
from dataclasses import replace
from urllib.parse import urlparse

import pytest

from heterophily.core.errors import HeterophilyError
from heterophily.data.catalog import CATALOG, lookup
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


def test_the_catalog_has_the_ten_datasets_of_the_paper_and_two_more():
    assert tuple(CATALOG) == (*PAPER, "cora", "citeseer")
    assert tuple(name for name, row in CATALOG.items() if row.in_paper) == PAPER


@rows
def test_a_row_is_stored_under_its_own_name(row):
    assert CATALOG[row.name] is lookup(row.name) is row


@rows
def test_a_row_names_its_source_and_a_known_format(row):
    assert row.citation
    assert row.licence
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
        assert re.fullmatch("[0-9a-f]{64}", file.sha256) or re.fullmatch(
            "[0-9a-f]{40}", file.git_blob
        )


def test_no_two_files_share_a_digest():
    digests = [f.sha256 or f.git_blob for row in CATALOG.values() for f in row.files]
    assert len(set(digests)) == len(digests)


@pytest.mark.parametrize(("counts", "edges"), [("stored", 3), ("symmetric", 4), (None, None)])
def test_the_paper_counts_edges_as_stored_or_symmetrised(tiny, counts, edges):
    row = replace(tiny, n_stored=3, n_symmetric=4, paper_counts=counts)
    assert row.paper_edges == edges
    assert row.in_paper == (counts is not None)


def test_a_misspelt_name_is_answered_with_the_closest():
    with pytest.raises(
        HeterophilyError, match='no dataset "chamelon-f"; did you mean "chameleon-f"'
    ):
        lookup("chamelon-f")

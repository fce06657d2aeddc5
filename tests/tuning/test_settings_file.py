"""One table of a file of settings changes, everything else stays to the letter."""

import tomllib

import pytest

from heterophily import HeterophilyError
from heterophily.models.settings import source_of, tuned
from heterophily.tuning.files import check_settings, with_table, write_settings

OLD = """# What this is.
# And more.

[cora]
source = "reference"
width = 8  # narrow

# Large graphs.
[actor]
source = "reference"
width = 16
"""
TABLE = {"source": "search", "preset": "reference", "width": 32, "residual": True, "rate": 5e-07}


def test_a_table_is_replaced_where_it_stands(tmp_path):
    path = tmp_path / "gcn.toml"
    path.write_text(OLD)
    write_settings(path, "cora", TABLE, model="gcn")
    text = path.read_text()
    head, tail = OLD.split("[cora]", maxsplit=1)[0], OLD.split("# narrow\n")[1]
    assert text.startswith(head + "[cora]\n")
    assert text.endswith("rate = 5e-07\n" + tail)
    assert "width = 8" not in text
    assert tomllib.loads(text) == {"cora": TABLE, "actor": {"source": "reference", "width": 16}}


def test_the_last_table_is_replaced_and_a_new_one_is_added():
    assert tomllib.loads(with_table(OLD, "actor", TABLE))["actor"] == TABLE
    added = with_table(OLD, 'a graph: "mine"', TABLE)
    assert added.startswith(OLD)
    assert list(tomllib.loads(added)) == ["cora", "actor", 'a graph: "mine"']


def test_a_quoted_name_is_found_again():
    once = with_table("", "v1.2", {"width": 1})
    assert once == '["v1.2"]\nwidth = 1\n'
    assert tomllib.loads(with_table(once, "v1.2", {"width": 2})) == {"v1.2": {"width": 2}}


def test_the_reader_of_settings_reads_it(tmp_path):
    write_settings(tmp_path / "gcn.toml", "cora", TABLE, model="gcn")
    assert (tmp_path / "gcn.toml").read_text().startswith("# Settings of gcn per dataset.")
    name = str(tmp_path / "gcn")
    assert tuned(name, "cora") == {k: v for k, v in TABLE.items() if k != "source"}
    assert source_of(name, "cora") == "search"


@pytest.mark.parametrize(
    "value", ['with "quotes" and \\', "ä\n\x7f", True, False, 0, -3, 1e-300, 0.1, 1e22, float("inf")]
)
def test_every_value_comes_back_with_its_type(value):
    back = tomllib.loads(with_table("", "a", {"b": value}))["a"]["b"]
    assert (type(back), back) == (type(value), value)


def test_what_cannot_be_written_is_refused(tmp_path):
    with pytest.raises(HeterophilyError, match=r"widths is \(1, 2\)"):
        write_settings(tmp_path / "gcn.toml", "a", {"widths": (1, 2)}, model="gcn")
    assert not (tmp_path / "gcn.toml").exists()


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("gcn.json", "", "a .toml file, got 'gcn.json'"),
        ("gcn.toml", "[cora", "not readable TOML"),
        ("gcn.toml", "width = 3", "expected one .table. per dataset"),
    ],
)
def test_a_file_of_something_else_is_not_touched(tmp_path, name, text, words):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(HeterophilyError, match=words):
        check_settings(path)
    assert path.read_text() == text

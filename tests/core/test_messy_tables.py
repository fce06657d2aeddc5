"""Tables as people have them: every file is read correctly, or an error explains how to correct it."""

import pytest

from heterophily.core.errors import HeterophilyError, HeterophilyWarning
from heterophily.core.frames import Roles
from heterophily.core.graph import Graph

EDGES = "source,target\na,b\nb,c\nc,d\n"
NODES = "id,label,x\na,1,2\nb,0,3\nc,1,4\nd,0,5\n"


@pytest.fixture
def read(tmp_path):
    """Read a graph from the text or bytes of its two tables."""

    def read(nodes=NODES, edges=EDGES, **roles):
        for name, text in (("edges", edges), ("nodes", nodes)):
            (tmp_path / f"{name}.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
        return Graph.from_files(tmp_path, roles=Roles(**roles))

    return read


VARIANTS = {
    "byte order mark": (f"\ufeff{NODES}", f"\ufeff{EDGES}"),
    "spaces": (NODES.replace(",", " , "), EDGES.replace(",", ", ")),
    "carriage returns": (NODES.replace("\n", "\r\n"), EDGES.replace("\n", "\r")),
    "separated by spaces": (NODES.replace(",", " "), EDGES.replace(",", " ")),
    "separated by tabs": (NODES.replace(",", "\t"), EDGES.replace(",", "\t")),
    "decimal commas": ("id;label;x\na;1;2,0\nb;0;3,0\nc;1;4,0\nd;0;5,0\n", EDGES.replace(",", ";")),
    "empty columns": (NODES.replace("\n", ",,\n").replace("x,,", "x,,e"), EDGES),
    "an empty split": (NODES.replace("\n", ",\n").replace("x,", "x,split"), EDGES),
    "columns in another order": ("x,label,id\n2,1,a\n3,0,b\n4,1,c\n5,0,d\n", "target,source\nb,a\nc,b\nd,c\n"),
}


@pytest.mark.parametrize(("nodes", "edges"), VARIANTS.values(), ids=VARIANTS)
def test_variants_of_a_file_are_the_same_graph(read, nodes, edges):
    graph, expected = read(nodes, edges), read()
    assert graph.checksum == expected.checksum
    assert (graph.node_ids, graph.feature_names) == (("a", "b", "c", "d"), ("x",))
    assert graph.class_names == ("0", "1")
    assert graph.splits == {}


def test_cells_contain_delimiters_newlines_quotes_and_any_characters(read):
    graph = read('id,label,"größe, cm"\nä,1,"a\nb"\n"b, c",0,"say ""x"""\n城市,1,z\n', "source,target\nä,城市\n")
    assert graph.node_ids == ("ä", "b, c", "城市")
    assert graph.feature_names == ("größe, cm=a\nb", 'größe, cm=say "x"', "größe, cm=z")


def test_integers_with_a_decimal_point_are_the_same_ids(read):
    assert read("id,x\n1.0,2\n2.0,3\n", "source,target\n1,2\n").n_edges == 1
    assert read("id,x\n1,2\n2,3\n", "source,target\n1.0,2.0\n").node_ids == ("1", "2")
    with pytest.raises(HeterophilyError, match="2 nodes that are not in the node table, for example '1', '2'"):
        read("id,x\n1.0,2\n01,3\n", "source,target\n1,2\n")
    assert read("id,x\n1.0,2\n2.5,3\n", "source,target\n1.0,2.5\n").node_ids == ("1.0", "2.5")


def test_infinity_is_a_missing_number(read):
    graph = read("id,x\na,inf\nb,1\nc,-Infinity\nd,2\n")
    assert graph.encoder.report()[0]["missing"] == 0.5


def test_split_nodes_without_a_label_are_reported(read):
    with pytest.warns(HeterophilyWarning, match="1 train and 1 val nodes without a label will not be used"):
        graph = read("id,label,split,x\na,,train,1\nb,0,train,2\nc,,val,3\nd,1,test,4\n")
    assert [part.tolist() for part in graph.split("given").parts.values()] == [[1], [], [3]]


def test_an_ignored_column_has_no_role(read):
    nodes = "id,label,split,x\na,1,3,2\nb,0,1,3\nc,1,2,4\nd,0,1,5\n"
    with pytest.raises(HeterophilyError, match=r"got '1'; correct it, or ignore it with .* --ignore split"):
        read(nodes)
    graph = read(nodes, ignore=["split", "label"])
    assert (graph.splits, graph.n_classes, graph.feature_names) == ({}, 0, ("x",))


@pytest.mark.parametrize(
    ("nodes", "edges", "roles", "words"),
    [
        (NODES.replace("1,2", "ä,2").encode("latin-1"), EDGES, {}, "must be a text file in UTF-8"),
        (NODES.encode("utf-16"), EDGES, {}, "must be a text file in UTF-8"),
        ("", EDGES, {}, "is not a readable table: Empty CSV file"),
        ("id,label\n", "source,target\n", {}, "nodes.csv has no rows; add one row per node"),
        ("id,x\na,1\nb\n", EDGES, {}, "Expected 2 columns, got 1: b; correct this row"),
        (NODES, "a,b\nb,c\n", {}, "must have the columns 'source' and 'target' or .* in its first row, got 'a', 'b'"),
        (NODES, "source,to_node\na,b\n", {}, "must have a column 'target' or .* or --target on the command line"),
        (NODES, "source,target\na,\nb,\n", {}, "column 'target' has 2 empty ids, the first one in row 1"),
        (NODES, EDGES, {"target": "source"}, "column 'source' cannot be both source and target"),
        (NODES, EDGES, {"label": "id"}, "column 'id' cannot be both id and label"),
        (NODES.replace("0,3", "one,3"), EDGES, {"label_bins": 2}, "must contain numbers, .*, got 'one' in row 2"),
        (NODES, EDGES, {"label_bins": 9}, r"label_bins must be between 2 and .* \(4\), got 9"),
        ("id,x\na,1\nb,2\n", "source,target\na,b\n", {"label_bins": 2}, "must have a column 'label'"),
    ],
)
def test_errors_explain_what_to_correct(read, nodes, edges, roles, words):
    with pytest.raises(HeterophilyError, match=words):
        read(nodes, edges, **roles)

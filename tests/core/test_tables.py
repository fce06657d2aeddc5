"""Graphs from tables: the meaning of columns, and errors that name the invalid cell."""

import csv

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from heterophily.core.errors import HeterophilyError, HeterophilyWarning
from heterophily.core.frames import Roles
from heterophily.core.graph import Graph
from heterophily.core.labels import encode_classes

EDGES = "source,target\n007,b\nb,7\n"
NODES = "id,label,age,height\n007,dog,1,0.5\nb,cat,2,1.5\n7,dog,3,2.5\n"


@pytest.fixture
def read(tmp_path):
    """Read a graph from the text of its two tables."""

    def read(edges=EDGES, nodes=NODES):
        for name, text in (("edges", edges), ("nodes", nodes)):
            (tmp_path / f"{name}.csv").write_text(text)
        return Graph.from_files(tmp_path)

    return read


def refused(words):
    return pytest.raises(HeterophilyError, match=words)


def adjacency(graph):
    return graph.to_scipy().toarray().tolist()


def assert_is_the_example(graph):
    assert graph.node_ids == ("007", "b", "7")
    assert adjacency(graph) == [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    assert graph.feature_names == ("age", "height")
    scaled = 1.349  # (x - median) / interquartile range, in units of a normal distribution
    assert graph.features.numpy() == pytest.approx(np.array([[-scaled, -scaled], [0, 0], [scaled, scaled]]))
    assert graph.class_names == ("cat", "dog")
    assert graph.labels.tolist() == [1, 0, 1]


def write(path, text):
    """Write a table in the format of the file extension."""
    rows = list(csv.reader(text.splitlines()))
    if path.suffix == ".parquet":
        numbers = {"age": int, "height": float}
        table = {c: [numbers.get(c, str)(v) for v in vs] for c, *vs in zip(*rows, strict=True)}
        pq.write_table(pa.table(table), path)
    else:
        delimiter = "\t" if path.suffix == ".tsv" else ","
        path.write_text("".join(delimiter.join(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
def test_a_folder_of_two_tables_is_a_graph(tmp_path, suffix):
    write(tmp_path / f"edges{suffix}", EDGES)
    write(tmp_path / f"nodes{suffix}", NODES)
    graph = Graph.from_files(tmp_path)
    assert_is_the_example(graph)
    assert graph.name == tmp_path.name


def test_a_pair_of_tables_is_a_graph(tmp_path):
    nodes = write(tmp_path / "people.parquet", NODES)
    graph = Graph.from_files(write(tmp_path / "friends.tsv", EDGES), nodes=nodes)
    assert_is_the_example(graph)
    assert graph.name == "people"


def test_columns_stand_in_any_order_and_have_several_names(read):
    edges = "color,Dst,Src\n1,b,007\n1,7,b\n"
    nodes = "height,class,age,Node_ID\n0.5,dog,1,007\n1.5,cat,2,b\n2.5,dog,3,7\n"
    with pytest.warns(HeterophilyWarning, match="edges.csv: 'color' will not be used, because edges"):
        assert_is_the_example(read(edges, nodes))


def test_a_column_y_is_a_feature_where_there_is_a_label(read):
    graph = read(nodes="id,x,y,label\n007,1,0.5,dog\nb,2,1.5,cat\n7,3,2.5,dog\n")
    assert graph.feature_names == ("x", "y")
    assert graph.class_names == ("cat", "dog")


def test_an_edge_table_alone_names_the_nodes(tmp_path):
    graph = Graph.from_files(write(tmp_path / "edges.csv", EDGES))
    assert graph.node_ids == ("007", "7", "b")
    assert adjacency(graph) == [[0, 0, 1], [0, 0, 0], [0, 1, 0]]
    assert (graph.n_features, graph.n_classes) == (0, 0)


def test_a_node_table_may_hold_ids_alone_and_an_edge_table_nothing(read):
    graph = read("source,target\n", "id\n1\n2\n")
    assert (graph.n_nodes, graph.n_edges, graph.n_features, graph.n_classes) == (2, 0, 0, 0)


def test_a_missing_label_is_unknown(read):
    words = ["dog", "", "NA", "nan", "None", " cat "]
    rows = "".join(f"{i},{word}\n" for i, word in enumerate(words))
    graph = read("source,target\n0,1\n", f"id,label\n{rows}")
    assert graph.labels.tolist() == [1, -1, -1, -1, -1, 0]
    assert graph.class_names == ("cat", "dog")


def test_tables_with_the_usual_names_are_named_after_their_folder(tmp_path, monkeypatch):
    folder = tmp_path / "market"
    folder.mkdir()
    write(folder / "edges.csv", EDGES)
    (folder / "nodes.csv").write_text("id\n007\n7\nb\n")
    monkeypatch.chdir(folder)
    assert Graph.from_files("edges.csv").name == "market"
    assert Graph.from_files("edges.csv", nodes="nodes.csv").name == "market"
    (folder / "edges.csv").rename(folder / "calls.csv")
    assert Graph.from_files("calls.csv").name == "calls"


def test_numeric_classes_stand_in_numeric_order_before_names():
    numbers, names = encode_classes(["10", "b", "2", None, "a", "2"])
    assert names == ["2", "10", "a", "b"]
    assert numbers.tolist() == [1, 3, 0, -1, 2, 0]


@pytest.mark.parametrize("values", [[10, None, 2], [10.0, np.nan, 2.0]], ids=["integers", "floats"])
def test_parquet_labels_may_be_numbers(tmp_path, values):
    pq.write_table(pa.table({"id": [1, 2, 3], "label": values}), tmp_path / "nodes.parquet")
    write(tmp_path / "edges.csv", "source,target\n1,3\n")
    graph = Graph.from_files(tmp_path)
    assert graph.class_names == ("2", "10")
    assert graph.labels.tolist() == [1, -1, 0]
    assert adjacency(graph) == [[0, 0, 1], [0, 0, 0], [0, 0, 0]]


def test_booleans_are_features(read):
    graph = read(nodes="id,member\n007,true\nb,false\n7,true\n")
    assert graph.features.tolist() == [[1], [0], [1]]


def test_a_split_column_is_the_given_split(read):
    words = ["train", "Valid", "test", "", "validation", " TEST ", " ", "train"]
    rows = "".join(f"{i},a,{word}\n" for i, word in enumerate(words))
    split = read("source,target\n0,1\n", f"id,label,split\n{rows}").split("given")
    assert [part.tolist() for part in split.parts.values()] == [[0, 7], [1, 4], [2, 5]]


@pytest.mark.parametrize(
    ("edges", "words"),
    [
        ("source,end\n007,b\n", "edges.csv must have a column 'target' or .*, got 'source', 'end'; name .* target="),
        ("source,target\n007,x\nz,b\n", "has 2 nodes that are not in the node table, for example 'x', 'z'"),
        ("source,target\n7.5,b\n", "not in the node table, for example '7.5'"),
        ("source,target\n007,\n", "column 'target' has 1 empty ids"),
        ("source,target\n007,b,7\n", "edges.csv is not a readable table"),
        ("", "edges.csv is not a readable table: Empty CSV file"),
    ],
)
def test_a_wrong_edge_table_is_refused(read, edges, words):
    with refused(words):
        read(edges)


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        ("name,age\n007,1\n", "nodes.csv must have a column 'id' or 'node_id' or 'node', got 'name'"),
        ("id,age\n007,1\nb,2\n7,3\nb,4\n", "has node 'b' twice; remove one of them"),
        ("id,age,age\n007,1,1\nb,2,2\n7,3,3\n", "has column 'age' twice; remove one of them"),
        ("id,age\n007,1\n,2\n7,3\n", "column 'id' has 1 empty ids"),
        ("id,label,split\n007,a,train\nb,a,dev\n7,a,test\n", "train, val, test, or nothing, got 'dev'"),
        ("id,label,split\n007,a,test\nb,a,\n7,a,\n", "split 'given' has no training nodes"),
        ("id,label,split\n007,,train\nb,a,\n7,a,\n", "train has nodes without a label"),
        ("", "nodes.csv is not a readable table: Empty CSV file"),
    ],
)
def test_a_wrong_node_table_is_refused(read, nodes, words):
    with refused(words):
        read(nodes=nodes)


@pytest.mark.parametrize("name", ["absent.csv", "."])
def test_a_missing_node_table_is_refused(tmp_path, name):
    edges = write(tmp_path / "edges.csv", EDGES)
    with refused("no table at .*; pass the path of a CSV or Parquet file"):
        Graph.from_files(edges, nodes=tmp_path / name)


@pytest.mark.parametrize(
    ("name", "words"),
    [("edges.csv", "must be a text file in UTF-8, but"), ("edges.parquet", "is not a readable table")],
)
def test_bytes_that_are_no_table_are_refused(tmp_path, name, words):
    path = tmp_path / name
    path.write_bytes("source,target\né,b\n".encode("latin-1"))
    with refused(f"{name} {words}"):
        Graph.from_files(path)


def test_a_byte_order_mark_is_no_part_of_the_first_column(read):
    graph = read("\ufeffsource,target\n007,7\n", "\ufeffid,age\n007,1\n7,2\n")
    assert graph.node_ids == ("007", "7")
    assert graph.feature_names == ("age",)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_recognized(tmp_path, delimiter):
    for name, text in (("edges", EDGES), ("nodes", NODES)):
        (tmp_path / f"{name}.csv").write_text(text.replace(",", delimiter))
    assert_is_the_example(Graph.from_files(tmp_path))


def test_decimal_commas_are_recognized(tmp_path):
    (tmp_path / "edges.csv").write_text(EDGES.replace(",", ";"))
    (tmp_path / "nodes.csv").write_text(NODES.replace(",", ";").replace(".", ","))
    assert_is_the_example(Graph.from_files(tmp_path))


def test_quoted_cells_may_contain_delimiters_and_line_breaks(read):
    graph = read(nodes='id,place\n007,"a, b"\nb,"c\nd"\n7,e\n')
    assert graph.feature_names == ("place=a, b", "place=c\nd", "place=e")


def test_text_and_gaps_are_features(read):
    graph = read(nodes="id,age,pet\n007,1,dog\nb,old,\n7,,cat\n")
    assert graph.feature_names == ("age=1", "age=old", "age: missing", "pet=cat", "pet=dog", "pet: missing")
    assert graph.features.tolist() == [[1, 0, 0, 0, 1, 0], [0, 1, 0, 0, 0, 1], [0, 0, 1, 1, 0, 0]]


def test_options_name_the_columns(tmp_path):
    edges, nodes = tmp_path / "calls.csv", tmp_path / "people.csv"
    edges.write_text("a,b\n1,2\n")
    nodes.write_text("id,key,group,fold,x\n5,1,u,train,3\n6,2,v,test,4\n")
    roles = Roles(source="a", target="b", id="key", label="group", split="fold", ignore=["id"])
    graph = Graph.from_files(edges, nodes=nodes, roles=roles)
    assert (graph.node_ids, graph.class_names, graph.feature_names) == (("1", "2"), ("u", "v"), ("x",))
    assert graph.split("fold").test.tolist() == [1]
    assert adjacency(graph) == [[0, 1], [0, 0]]


def test_an_unknown_column_is_refused(read, tmp_path):
    read()
    with refused(f'unknown column of {tmp_path}/nodes.csv "labl"; did you mean "label"?'):
        Graph.from_files(tmp_path, roles=Roles(label="labl"))


def test_an_empty_split_column_is_no_split(read):
    assert read(nodes="id,label,split\n007,a,\nb,a, \n7,b,nan\n").splits == {}

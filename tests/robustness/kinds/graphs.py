"""Files of graphs: tables, npz, GraphML, and saved graphs."""

import csv
import json
import struct
from contextlib import suppress

import numpy as np
import pyarrow as pa
import torch
from hypothesis import strategies as st
from pyarrow import parquet
from safetensors.torch import load_file, save_file

from heterophily import Graph
from tests.robustness.inputs import small_graph
from tests.robustness.kinds.kind import Kind, check_result
from tests.robustness.strategies import changes, damaged, edited, edits, text

NAMES = ["id", "label", "split", "source", "target", "weight", "x", "y", "", "X", "class", "from"]
column = st.tuples(st.sampled_from(NAMES) | text, st.lists(text, min_size=1, max_size=8))
hostile_table = st.lists(column, max_size=5)
ids = st.lists(text.filter(lambda s: s.strip() == s and s and "\0" not in s), min_size=2, max_size=6, unique=True)
TABLES = {
    "edges": "source,target,weight\na,b,1\nb,c,2.5\nc,a,1\n",
    "nodes": "id,label,split,x,city\na,u,train,1.5,Bonn\nb,v,val,,Rom\nc,u,test,2,Bonn\n",
}


@st.composite
def table_cases(draw):
    """Hostile cells, damaged bytes, typed Parquet columns, or a correct table with unusual names."""
    form = draw(st.sampled_from(["cells", "bytes", "parquet", "correct"]))
    if form == "bytes":
        return form, draw(st.sampled_from(sorted(TABLES))), draw(edits), draw(st.booleans())
    if form == "correct":
        names = draw(ids)
        pairs = draw(st.lists(st.tuples(st.sampled_from(names), st.sampled_from(names)), min_size=1, max_size=8))
        return form, names, pairs, draw(st.sampled_from(",;\t"))
    return form, draw(hostile_table), draw(hostile_table | st.none()), draw(st.sampled_from(",;\t|"))


def write_csv(path, columns, delimiter):
    with path.open("w", newline="", encoding="utf-8", errors="replace") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow([name for name, _ in columns])
        for i in range(max((len(cells) for _, cells in columns), default=0)):
            writer.writerow([cells[i] if i < len(cells) else "" for _, cells in columns])


def write_parquet(path, columns):
    n = min((len(cells) for _, cells in columns), default=0)
    kinds = [pa.string(), pa.int64(), pa.float64(), pa.list_(pa.string()), pa.binary(), pa.bool_(), pa.date32()]
    found = {}
    for i, (name, cells) in enumerate(columns):
        kind = kinds[sum(map(len, cells)) % len(kinds)]
        plain = {"int64": lambda c: len(c) - 2, "double": len, "bool": bool, "date32[day]": len}
        values = [plain.get(str(kind), lambda c, k=kind: [c] if pa.types.is_list(k) else c)(c) for c in cells[:n]]
        with suppress(UnicodeEncodeError, pa.ArrowException):
            values = [v.encode() for v in values] if kind == pa.binary() else values
            found[name or f"c{i}"] = pa.array(values, kind)
    parquet.write_table(pa.table(found), path)


def attempt_tables(case, folder):
    form, first, second, more = case
    if form == "bytes":
        for name, content in TABLES.items():
            if more:
                head, *rows = csv.reader(content.split())
                table = pa.table({key: [row[i] for row in rows] for i, key in enumerate(head)})
                parquet.write_table(table, folder / f"{name}.parquet")
            else:
                (folder / f"{name}.csv").write_text(content)
        path = folder / f"{first}.{'parquet' if more else 'csv'}"
        path.write_bytes(edited(path.read_bytes(), second))
    elif form == "correct":
        return attempt_correct_table(first, second, more, folder)
    else:
        for name, columns in (("edges", first), ("nodes", second)):
            if columns is not None and form == "cells":
                write_csv(folder / f"{name}.csv", columns, more)
            elif columns is not None:
                write_parquet(folder / f"{name}.parquet", columns)
    return check_result(Graph.from_files(folder if second is not None else next(folder.iterdir())), folder)


def attempt_correct_table(names, pairs, delimiter, folder):
    """A table that is correct is read exactly."""
    write_csv(
        folder / "nodes.csv",
        [("id", names), ("x", ["1", "2"] * (len(names) // 2) + ["3"] * (len(names) % 2))],
        delimiter,
    )
    write_csv(folder / "edges.csv", [("source", [a for a, _ in pairs]), ("target", [b for _, b in pairs])], delimiter)
    graph = Graph.from_files(folder)
    assert set(graph.node_ids) == set(names)
    rows, columns = graph.adjacency.rows.tolist(), graph.adjacency.indices.tolist()
    found = {(graph.node_ids[i], graph.node_ids[j]) for i, j in zip(rows, columns, strict=True)}
    assert found == set(pairs)


KEYS = ["edges", "edge_index", "node_features", "features", "x", "node_labels", "labels", "y", "edge_weights"]
KEYS += ["train_masks", "val_masks", "test_masks", "train", "val", "weights", "other"]
DTYPES = ["i8", "i4", "u1", "u8", "f4", "f8", "f2", "?", "c16", "U3", "S2", "M8[s]", "i2"]
array = st.tuples(
    st.sampled_from(DTYPES),
    st.lists(st.integers(0, 5), max_size=3),
    st.lists(st.integers(-3, 6), min_size=1, max_size=9),
)
pairs = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=8)
npz_cases = st.one_of(
    st.dictionaries(st.sampled_from(KEYS), array, max_size=5),
    st.tuples(
        st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=8),
        st.none() | array,
        st.none() | array,
    ),
    edits,
)


def make_array(spec):
    dtype, shape, values = spec
    with np.errstate(all="ignore"):
        return np.resize(np.array(values), shape).astype(dtype)


def attempt_npz(case, folder):
    path = folder / "g.npz"
    if isinstance(case, dict):
        np.savez_compressed(path, **{k: make_array(v) for k, v in case.items()})
    elif isinstance(case, tuple):
        more = {k: make_array(v) for k, v in zip(("node_features", "node_labels"), case[1:], strict=True) if v}
        np.savez(path, edges=np.array(case[0]), **more)
    else:
        graph = small_graph()
        edges = torch.stack([graph.adjacency.rows.long(), graph.adjacency.indices.long()], 1).numpy()
        np.savez(path, edges=edges, node_features=graph.features.numpy(), node_labels=graph.labels.numpy())
        path.write_bytes(edited(path.read_bytes(), case))
    graph = Graph.from_files(path)
    check_result(graph, folder)
    if isinstance(case, tuple):
        assert graph.n_edges == len(set(case[0]))


GRAPHML = """<?xml version="1.0" encoding="{encoding}"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><key id="a" for="node" attr.name="{name}" attr.type="{type}"/>
<key id="label" for="node" attr.name="label" attr.type="string"/>
<key id="w" for="edge" attr.name="weight" attr.type="{wtype}"/>
<graph edgedefault="{direction}"><node id="x"><data key="{key}">{value}</data><data key="label">u</data></node>
<node id="{node}"><data key="a">2</data><data key="label">{label}</data></node>
<edge source="x" target="{target}"><data key="w">{weight}</data></edge></graph></graphml>"""
PLAIN = {
    "encoding": "utf-8",
    "name": "a",
    "type": "double",
    "wtype": "double",
    "direction": "directed",
    "key": "a",
    "value": "1",
}
PLAIN |= {"node": "y", "label": "v", "target": "y", "weight": "1"}
TYPES = ["int", "long", "float", "double", "boolean", "string", "quaternion", "", "yfiles"]
ENCODINGS = ["utf-8", "utf-16", "latin1", "cp500", "klingon"]
FIELDS = {name: st.sampled_from(TYPES) if "type" in name else text for name in PLAIN}
FIELDS["encoding"] = text | st.sampled_from(ENCODINGS)
graphml_cases = st.one_of(st.fixed_dictionaries({}, optional=FIELDS), edits)


def attempt_graphml(case, folder):
    path = folder / "g.graphml"
    if isinstance(case, dict):
        path.write_bytes(GRAPHML.format(**{**PLAIN, **case}).encode("utf-8", "replace"))
    else:
        path.write_bytes(edited(GRAPHML.format(**PLAIN).encode(), case))
    check_result(Graph.from_files(path), folder)


TENSORS = ["f4", "i8", "i4", "u1", "?", "f8", "i2"]
sizes = st.lists(st.integers(0, 31), max_size=2)
tensor = st.tuples(st.sampled_from(TENSORS), sizes, st.lists(st.integers(-2, 40), min_size=1, max_size=9))
tensors = st.dictionaries(st.integers(0, 9), tensor | st.none(), min_size=1, max_size=2)
saved_cases = st.tuples(
    st.one_of(
        st.tuples(st.just("facts"), changes),
        st.tuples(st.just("tensors"), tensors),
        st.tuples(st.just("bytes"), edits),
        st.tuples(st.just("header"), edits),
    ),
    st.booleans(),
)


def damaged_tensors(tensors, steps):
    """Return tensors of which some are replaced or removed."""
    names = sorted(tensors)
    new = {names[i % len(names)]: None if t is None else torch.from_numpy(make_array(t)) for i, t in steps.items()}
    return {name: each for name, each in {**tensors, **new}.items() if each is not None}


def attempt_saved(case, folder):
    (form, steps), mmap = case
    path = small_graph(weights=None).save(folder / "g.safetensors")
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    if form == "bytes":
        path.write_bytes(edited(content, steps))
    elif form == "header":
        header = edited(content[8 : 8 + length], steps)
        path.write_bytes(struct.pack("<Q", len(header)) + header + content[8 + length :])
    else:
        facts = json.loads(json.loads(content[8 : 8 + length])["__metadata__"]["graph"])
        content = load_file(path)
        if form == "facts":
            facts = damaged(facts, steps)
        else:
            content = damaged_tensors(content, steps)
        save_file(content, path, {"graph": json.dumps(facts).encode("utf-8", "replace").decode()})
    graph = Graph.load(path, mmap=mmap)
    if not mmap:
        check_result(graph, folder)


KINDS = [
    Kind("tables", table_cases(), attempt_tables),
    Kind("npz", npz_cases, attempt_npz),
    Kind("graphml", graphml_cases, attempt_graphml),
    Kind("saved graphs", saved_cases, attempt_saved),
]

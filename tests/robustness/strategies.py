"""Hypothesis strategies for damage: text, numbers, JSON, and bytes as nobody should write them."""

import json

from hypothesis import strategies as st

CELLS = ["", " ", "0", "1", "-1", "2", "007", "1e400", "nan", "inf", "-inf", "1,5", "1.5", "a", "b", "A", "ä", "\u202e"]
CELLS += ["=1+1", "@x", "-x", "+x", "true", "2024-01-01", "2024-13-45", "9" * 400, "x" * 3000, "a\nb", 'q"q', "a;b"]
CELLS += ["a\tb", "<b>", "%s", "{}", "🙂", "None", "null", "train", "val", "test", "\\", "'"]
NUMBERS = [0, 1, -1, 2, 3, 0.5, -0.5, 2**31, 2**53 + 1, 2**62, 2**64, -(2**63), 10**30, 1e300, 5e-324, 1e-300]
HOSTILE = [
    "../../x",
    "/etc/passwd",
    "\0",
    "\ud800".encode("utf-8", "surrogatepass").decode("latin1"),
    "x" * 5000,
    "[1]",
]

text = st.one_of(st.sampled_from(CELLS + HOSTILE), st.text(max_size=8))
scalar = st.one_of(st.none(), st.booleans(), st.sampled_from(NUMBERS), st.integers(-5, 40), text)
special = st.sampled_from([float("nan"), float("inf"), -float("inf")])
value = st.recursive(
    scalar | special, lambda v: st.lists(v, max_size=3) | st.dictionaries(text, v, max_size=3), max_leaves=6
)
place = st.lists(st.integers(0, 200), min_size=1, max_size=6)
# Changes of one place: where, what happens there, and a value.
change = st.tuples(place, st.sampled_from(["set", "set", "set", "remove", "add", "repeat", "wrap"]), value)
changes = st.lists(change, min_size=1, max_size=3)
edit = st.tuples(
    st.sampled_from(["flip", "zero", "cut", "insert", "repeat", "number"]),
    st.integers(0, 10**6),
    st.integers(1, 64),
    st.binary(min_size=1, max_size=8),
)
edits = st.lists(edit, min_size=1, max_size=3)


def damaged(content, steps):
    """Return JSON content with changes at the places that the numbers of each step select."""
    content = json.loads(json.dumps(content))
    for numbers, action, new in steps:
        content = _changed(content, list(numbers), action, new)
    return content


def _changed(node, numbers, action, new):
    if not numbers or not isinstance(node, dict | list) or not node:
        return {"wrap": [node], "repeat": [node, node]}.get(action, new)
    keys = sorted(node) if isinstance(node, dict) else range(len(node))
    key = keys[numbers[0] % len(keys)]
    if len(numbers) > 1 and isinstance(node[key], dict | list) and node[key]:
        node[key] = _changed(node[key], numbers[1:], action, new)
    elif action == "remove":
        del node[key]
    elif action == "add":
        if isinstance(node, list):
            node.append(new)
        else:
            node["more"] = new
    else:
        node[key] = {"wrap": [node[key]], "repeat": [node[key], node[key]]}.get(action, new)
    return node


def edited(content, steps):
    """Return bytes with changes at the positions of the steps."""
    for action, position, length, new in steps:
        i = position % (len(content) + 1)
        old = content[i : i + length]
        replaced = {
            "flip": bytes(b ^ new[0] for b in old),
            "zero": bytes(len(old)),
            "cut": b"",
            "insert": new + old,
            "repeat": old * 2,
            "number": (new * length)[: len(old)],
        }[action]
        content = content[:i] + replaced + (b"" if action == "cut" and length > 60 else content[i + length :])
    return content

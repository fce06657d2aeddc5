"""Random graphs with known properties for `benchmarks/diagnosis.py`, and the real graphs.

Only some nodes of a random graph are labeled, as in practice. The diagnosis sees these labels, the networks train
on them, and the labels of all other nodes test the networks.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from scipy.spatial import cKDTree

from heterophily import Graph
from heterophily.core.types import FloatArray, IntArray

PATTERNS = ("homophily", "ring", "others", "random", "features")
SHARES = (0.25, 0.2, 0.15, 0.3, 0.1)  # of the random graphs with each pattern
REAL = (  # the smallest first
    *("wisconsin", "chameleon-f", "squirrel-f", "chameleon", "cora", "citeseer", "cora-ml", "actor", "tolokers"),
    *("photo", "pubmed", "blogcatalog", "computers", "flickr"),
)


@dataclass(frozen=True)
class Recipe:
    """Properties of a random graph."""

    seed: int
    n_nodes: int
    n_classes: int
    ratio: float  # of the sizes of consecutive classes
    pattern: str  # what edges depend on
    purity: float  # fraction of the edges that follow the pattern; the others are random
    degree: float
    spread: float  # deviation of the logarithm of expected degrees
    n_columns: int  # that depend on the class
    n_noise: int  # columns that do not
    strength: float  # distance of the classes in deviations of the features
    is_nonlinear: bool  # whether each class has two opposite centers
    label_share: float


def draw_recipe(seed: int) -> Recipe:
    """Draw the properties of a random graph."""
    rng = np.random.default_rng([seed, 18])
    n_classes = int(rng.choice([2, 2, 3, 5, 8]))
    return Recipe(
        seed=seed,
        n_nodes=int(math.exp(rng.uniform(math.log(300), math.log(1600)))),
        n_classes=n_classes,
        ratio=float(rng.choice([1.0, 0.25, 0.06] if n_classes == 2 else [1.0, 0.8, 0.6])),
        pattern=str(rng.choice(PATTERNS, p=SHARES)),
        purity=float(rng.choice([0.3, 0.6, 0.9])),
        degree=float(rng.choice([2, 4, 8, 16, 32])),
        spread=float(rng.choice([0.0, 1.0])),
        n_columns=int(rng.choice([1, 4, 16])),
        n_noise=int(rng.choice([0, 8, 32])),
        strength=float(rng.choice([0.0, 0.5, 1.0, 2.0, 4.0], p=[0.12, 0.22, 0.22, 0.22, 0.22])),
        is_nonlinear=bool(rng.random() < 0.2),
        label_share=float(rng.choice([0.05, 0.1, 0.25, 0.5, 0.8])),
    )


def build(recipe: Recipe) -> tuple[Graph, IntArray]:
    """Return a graph of which only some nodes are labeled, and the classes of all nodes."""
    rng = np.random.default_rng([recipe.seed, 19])
    sizes = recipe.ratio ** np.arange(recipe.n_classes)
    classes = rng.choice(recipe.n_classes, size=recipe.n_nodes, p=sizes / sizes.sum())
    features = _features(recipe, classes, rng)
    edges = _similar(features, recipe, rng) if recipe.pattern == "features" else _edges(recipe, classes, rng)
    labeled = np.zeros(recipe.n_nodes, dtype=bool)
    labeled[rng.permutation(recipe.n_nodes)[: round(recipe.label_share * recipe.n_nodes)]] = True
    for k in range(recipe.n_classes):  # at least four labels of each class
        labeled[np.flatnonzero(classes == k)[:4]] = True
    edges = edges[edges[:, 0] != edges[:, 1]]
    graph = Graph.from_edges(
        np.concatenate([edges, edges[:, ::-1]]),
        features.astype(np.float32),
        labels=np.where(labeled, classes, -1),
        n_classes=recipe.n_classes,
        name=f"random {recipe.seed}",
    )
    return graph, classes


def _features(recipe: Recipe, classes: IntArray, rng: np.random.Generator) -> FloatArray:
    centers = rng.standard_normal((recipe.n_classes, recipe.n_columns))
    centers *= recipe.strength / np.sqrt(2 * recipe.n_columns)
    signs = rng.choice([-1, 1], size=len(classes)) if recipe.is_nonlinear else np.ones(len(classes))
    noise = rng.standard_normal((len(classes), recipe.n_columns + recipe.n_noise))
    noise[:, : recipe.n_columns] += centers[classes] * signs[:, None]
    return noise


def _edges(recipe: Recipe, classes: IntArray, rng: np.random.Generator) -> IntArray:
    """Draw one end of each edge, the class of the other end from a row of M, and then the other end."""
    k = recipe.n_classes
    prior = np.bincount(classes, minlength=k) / len(classes)
    matrix = recipe.purity * _pattern(recipe.pattern, prior) + (1 - recipe.purity) * prior
    weights = np.exp(recipe.spread * rng.standard_normal(len(classes)))
    n_edges = round(recipe.n_nodes * recipe.degree / 2)
    start = rng.choice(len(classes), size=n_edges, p=weights / weights.sum())
    end = np.zeros(n_edges, dtype=np.int64)
    wanted = (rng.random(n_edges)[:, None] > matrix.cumsum(axis=1)[classes[start]][:, :-1]).sum(axis=1)
    for a in range(k):
        members, chosen = np.flatnonzero(classes == a), np.flatnonzero(wanted == a)
        end[chosen] = rng.choice(members, size=len(chosen), p=weights[members] / weights[members].sum())
    return np.stack([start, end], axis=1)


def _pattern(name: str, prior: FloatArray) -> FloatArray:
    k = len(prior)
    if name == "random":
        return np.tile(prior, (k, 1))
    if name == "homophily":
        return np.eye(k)
    others = np.tile(prior, (k, 1)) if name == "others" else np.roll(np.eye(k), 1, 1) + np.roll(np.eye(k), -1, 1)
    others[np.arange(k), np.arange(k)] = 0.0
    return others / others.sum(axis=1, keepdims=True)


def _similar(features: FloatArray, recipe: Recipe, rng: np.random.Generator) -> IntArray:
    """Connect nodes with similar features, regardless of their classes, and some others."""
    n_neighbors = max(1, round(recipe.degree / 2))
    near = np.asarray(cKDTree(features).query(features, k=n_neighbors + 1)[1])
    edges = np.stack([np.repeat(np.arange(len(features)), n_neighbors), near[:, 1:].ravel()], axis=1)
    swapped = rng.random(len(edges)) > recipe.purity
    edges[swapped, 1] = rng.integers(len(features), size=int(swapped.sum()))
    return edges


def division(labels: torch.Tensor, *, seed: int) -> tuple[IntArray, IntArray]:
    """Divide the labeled nodes into training and validation nodes, stratified."""
    rng = np.random.default_rng([seed, 20])
    known = np.flatnonzero(labels.numpy() >= 0)
    shuffled = rng.permutation(known)
    by_class = shuffled[np.argsort(labels.numpy()[shuffled], kind="stable")]
    is_val = np.arange(len(by_class)) % 4 == 3
    return np.sort(by_class[~is_val]), np.sort(by_class[is_val])

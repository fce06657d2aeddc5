"""Geom-GCN: neighbors by where they lie in a planar embedding of the graph."""

from heterophily.core.spaces import Choice
from heterophily.htmp.combine import Concat
from heterophily.htmp.guidance import RelationMean
from heterophily.htmp.neighborhoods import Ego, Geometric
from heterophily.htmp.part import Setting
from heterophily.htmp.recipe import Recipe
from heterophily.htmp.transform import Linear

MEAN = RelationMean(Setting("degree"), Setting("overlap"))

GEOM_GCN = Recipe(
    name="geom-gcn",
    title="Geom-GCN",
    paper="Pei et al., Geom-GCN: geometric graph convolutional networks, ICLR 2020",
    channels=(
        *(
            Geometric(space, quadrant, Setting("overlap")) * MEAN
            for space in ("graph", "latent")
            for quadrant in range(4)
        ),
        Ego() * MEAN,
    ),
    combine=Concat(last="mean"),
    transform=Linear(bias="none"),
    equation="H_r = D_n^(-1/2) A_r D_n^(-1/2) drop(Z) W_r; relu([H_1 ‖ .. ‖ H_9]), at the end the mean",
    settings={
        "width": 32,
        "learning_rate": 0.05,
        "weight_decay": 5e-6,
        "overlap": "both",
        "degree": "union",
    },
    space={
        "learning_rate": Choice(0.01, 0.05),
        "weight_decay": Choice(5e-6, 5e-5, 5e-4),
        "width": Choice(16, 32, 48, 64),
        "dropout": Choice(0.0, 0.5),
    },
    reference={"overlap": "latent"},
    deviations=(
        "an edge that is also a latent neighbor belongs to both relations; in the program only to the "
        "latent one: overlap = latent",
        "degrees count the entries of all relations, as in the program; degree = relation counts one",
        "the embedding is Isomap, with landmarks above 10,000 nodes; unreachable pairs are 1.5 times "
        "the largest distance apart",
        "no decay of the learning rate; selection by validation accuracy",
    ),
)

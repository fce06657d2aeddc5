"""OrderedGNN: a gate that orders the dimensions of the node and of its neighborhood."""

from heterophily.core.spaces import Choice
from heterophily.htmp.combine import OrderedGate
from heterophily.htmp.encoder import Embed
from heterophily.htmp.guidance import Ones, RowMean
from heterophily.htmp.neighborhoods import Ego, Raw
from heterophily.htmp.part import Setting
from heterophily.htmp.recipe import Dropout, Head, Recipe
from heterophily.htmp.transform import NoTransform

ORDERED_GNN = Recipe(
    name="ordered-gnn",
    title="OrderedGNN",
    paper="Song et al., Ordered GNN: ordering message passing to deal with heterophily and "
    "over-smoothing, ICLR 2023",
    channels=(Ego() * Ones(), Raw() * RowMean()),
    combine=OrderedGate(Setting("n_chunks"), Setting("shared_gate"), Setting("gate")),
    encoder=Embed(Setting("n_input_layers"), norm=True, dropout=Setting("dropout")),
    transform=NoTransform(),
    head=Head(),
    dropout=Dropout(
        input=Setting("dropout"), layer=Setting("layer_dropout"), head=Setting("dropout")
    ),
    activation="none",
    equation="Z^l = LN(G ⊙ z + (1-G) ⊙ R z), g^l = g^(l-1) + (1-g^(l-1)) ⊙ q, "
    "q = cumsum(softmax([z ‖ R z] W_g + b_g))",
    settings={
        "width": 256,
        "n_layers": 8,
        "n_chunks": 64,
        "shared_gate": True,
        "gate": "ordered",
        "n_input_layers": 1,
        "dropout": 0.3,
        "layer_dropout": 0.1,
        "learning_rate": 0.005,
    },
    space={
        "learning_rate": Choice(0.001, 0.005, 0.01),
        "weight_decay": Choice(5e-8, 5e-6, 5e-4, 5e-2),
        "dropout": Choice(0.1, 0.2, 0.3, 0.4),
        "layer_dropout": Choice(0.1, 0.2),
        "shared_gate": Choice(False, True),
        "n_input_layers": Choice(1, 2, 3),
    },
    deviations=(
        "the running sum of the gate goes from left to right, as in the programs; the paper writes "
        "its mirror image",
        "the layer norms of the input are trained; the authors' optimiser omits them",
        "one weight decay for all parameters; the authors' program has two",
    ),
)

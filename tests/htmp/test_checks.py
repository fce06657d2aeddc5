"""Invalid architectures are rejected at construction, with an error that says how to fix them."""

import itertools

import pytest
import scipy.sparse as sp
import torch

from heterophily import Architecture, CustomMethod, Graph, HeterophilyError, build
from heterophily.htmp.architecture import Head
from heterophily.htmp.checks import find_problem
from heterophily.htmp.combine import Add, Concat, SingleChannel, WeightedAdd
from heterophily.htmp.encoder import Embed, Predict, RawFeatures
from heterophily.htmp.fuse import ConcatLayers, LastLayer
from heterophily.htmp.guidance import Attention, Complement, Ones, RowMean, SymmetricMean
from heterophily.htmp.neighborhoods import Ego, Hop, Power, Raw, WithSelf
from heterophily.htmp.transform import Heads, Linear, NoTransform, SharedLinear
from heterophily.models import NETWORKS
from heterophily.models.classics import LINKXEncoder
from heterophily.models.cmgnn.parts import CompatibilityWeights, Discrimination, Prototypes
from heterophily.models.cmgnn.state import CompatibilityEstimate
from heterophily.models.fagcn import SignedAttention
from heterophily.models.gbk_gnn import Gate, GateComplement, GateLoss
from heterophily.models.gcnii import NearIdentity
from heterophily.models.ggcn import Signed, SignedSimilarity
from heterophily.models.glognn import AllPairs, ClosedFormCoefficients
from heterophily.models.gpr_gnn import WeightedLayerSum
from heterophily.models.hog_gcn import AttributeLoss, EstimatedHomophily
from heterophily.models.ordered_gnn import OrderedGate
from heterophily.models.simp_gcn import SimilaritySum

EGO, MEAN = Ego() * Ones(), Raw() * RowMean()
STRUCTURE = (Raw() * Ones()).with_input("nodes")
PROTOTYPES = (Prototypes() * CompatibilityWeights()).with_input("prototypes")
STATES = (CompatibilityEstimate(),)
INVALID = {
    "no channels": ({"channels": ()}, "there are no channels; pass at least one"),
    "three channels without a COMBINE": (
        {"channels": (EGO, MEAN, Hop(2) * RowMean())},
        "SingleChannel combines exactly 1 message, but there are 3 channels; pass a COMBINE such as",
    ),
    "weighted add of three channels": (
        {"channels": (EGO, MEAN, MEAN), "combine": WeightedAdd(0.5)},
        "WeightedAdd combines exactly 2 messages, but there are 3 channels; pass a COMBINE",
    ),
    "weighted add of one channel": (
        {"channels": (MEAN,), "combine": WeightedAdd(0.5)},
        "WeightedAdd combines exactly 2 messages, but there is 1 channel; add channels, or omit",
    ),
    "similarity sum of two channels": (
        {"channels": (EGO, MEAN), "combine": SimilaritySum()}, "combines exactly 3 messages",
    ),
    "ordered gate of one channel": (
        {"channels": (MEAN,), "combine": OrderedGate(4)}, "OrderedGate combines exactly 2 messages",
    ),
    "a mean over prototypes": (
        {"channels": (Prototypes() * RowMean(),)},
        r"Prototypes\(\) \* RowMean\(\): prototypes have no edges .* use Prototypes\(\) \* Compat",
    ),
    "compatibility weights of neighbors": (
        {"channels": (Raw() * CompatibilityWeights(),), "states": STATES, "encoder": Embed()},
        "CompatibilityWeights has one column per class; use Prototypes",
    ),
    "a power of attention": (
        {"channels": (Power(2) * Attention(),)},
        r"powers are defined only for fixed matrices; .* or Hop\(2\) instead of Power\(2\)",
    ),
    "a power of ones": ({"channels": (Power(2) * Ones(),)}, "only for fixed matrices"),
    "a power of a complement": ({"channels": (Power(2) * Complement(),)}, "only for fixed matrices"),
    "the complement of a gate alone": (
        {"channels": (Raw() * GateComplement(),)},
        r"uses the weights of another channel that is missing; put Raw\(.*\) \* Gate\(.*\) before it",
    ),
    "a gate after its complement": (
        {"channels": (Raw() * GateComplement(), Raw() * Gate()), "combine": Add()}, "before it",
    ),
    "the complement of a gate on another neighborhood": (
        {"channels": (Raw() * Gate(), WithSelf() * GateComplement()), "combine": Add()}, "before it",
    ),
    "negative similarity alone": ({"channels": (Signed(-1) * SignedSimilarity(-1),)}, "before it"),
    "similarity of the wrong sign": (
        {"channels": (Signed(-1) * SignedSimilarity(1),)}, r"use Signed\(1\) \* SignedSimilarity\(1\)",
    ),
    "similarity of all neighbors": ({"channels": (Raw() * SignedSimilarity(),)}, "use Signed"),
    "a mean over all pairs": (
        {"channels": (AllPairs() * RowMean(),)}, r"use AllPairs\(\) \* ClosedFormCoefficients\(\)",
    ),
    "closed form of neighbors": (
        {"channels": (Raw() * ClosedFormCoefficients(),)}, r"use it with AllPairs\(\)",
    ),
    "homophily of neighbors": (
        {"channels": (Raw() * EstimatedHomophily(),)}, r"use it with PathCounts\(\)",
    ),
    "discrimination without an estimate": (
        {"channels": (MEAN,), "losses": (Discrimination(),)},
        r"Discrimination requires CompatibilityEstimate; add states=\(CompatibilityEstimate\(\),\)",
    ),
    "compatibility weights without an estimate": (
        {"channels": (PROTOTYPES,), "encoder": Embed()},
        "CompatibilityWeights requires CompatibilityEstimate",
    ),
    "a gate loss without a gate": (
        {"channels": (MEAN,), "losses": (GateLoss(),)},
        r"GateLoss requires Gate; add a channel with Gate\(\)",
    ),
    "an attribute loss without its model": (
        {"channels": (MEAN,), "losses": (AttributeLoss(),)}, "requires EstimatedHomophily",
    ),
    "prototypes of LINKX": (
        {"channels": (PROTOTYPES,), "states": STATES, "encoder": LINKXEncoder()},
        "LINKXEncoder does not encode prototypes; use encoder=Embed",
    ),
    "prototypes of raw features": (
        {"channels": (PROTOTYPES,), "states": STATES}, "RawFeatures does not encode prototypes",
    ),
    "prototypes and a row per node": (
        {"channels": (STRUCTURE, PROTOTYPES), "combine": Add(), "states": STATES, "encoder": Embed()},
        "have none for prototypes",
    ),
    "a row per node without its own transform": (
        {"channels": (EGO, STRUCTURE), "combine": Add(), "transform": SharedLinear()},
        r"one weight per node; use transform=Linear\(\)",
    ),
    "no transform without head and predictions": (
        {"channels": (MEAN,), "transform": NoTransform()},
        r"NoTransform keeps the width of RawFeatures, so the output has no column per class; add head",
    ),
    "no transform of an embedding without a head": (
        {"channels": (MEAN,), "transform": NoTransform(), "encoder": Embed()}, "no column per class",
    ),
    "a concatenation without a head": (
        {"channels": (EGO, MEAN), "combine": Concat()},
        r"Concat outputs more columns than there are classes; add head=Head\(\)",
    ),
    "concatenated layers without a head": (
        {"channels": (MEAN,), "fuse": ConcatLayers(), "encoder": Embed()}, "ConcatLayers outputs more",
    ),
    "concatenated layers of raw features": (
        {"channels": (MEAN,), "fuse": ConcatLayers(), "head": Head()},
        r"ConcatLayers uses Z⁰, which here is the raw feature matrix; pass an encoder",
    ),
    "concatenated messages and layers of raw features": (
        {"channels": (EGO, MEAN), "combine": Concat(), "fuse": ConcatLayers(), "head": Head()},
        "raw feature matrix",
    ),
    "a sum of raw features": (
        {"channels": (MEAN,), "fuse": WeightedLayerSum(), "head": Head()}, "raw feature matrix",
    ),
    "a sum of layers that grow": (
        {"channels": (EGO, MEAN), "combine": Concat(), "fuse": WeightedLayerSum(), "head": Head(),
         "encoder": Embed()}, "WeightedLayerSum adds all layers, which requires",
    ),
    "a sum of hidden layers and logits": (
        {"channels": (MEAN,), "fuse": WeightedLayerSum(), "encoder": Embed()}, "adds all layers",
    ),
    "a sum of layers of two widths": (
        {"channels": (MEAN,), "fuse": WeightedLayerSum(), "encoder": Embed(), "head": Head(),
         "widths": (4, 3)}, "adds all layers",
    ),
    "a sum of predictions and hidden layers": (
        {"channels": (MEAN,), "fuse": WeightedLayerSum(), "encoder": Predict()}, "adds all layers",
    ),
    "a sum of concatenated heads": (
        {"channels": (Raw() * Attention(),), "fuse": WeightedLayerSum(), "encoder": Embed(),
         "head": Head(), "transform": Linear(heads=Heads(2))}, "adds all layers",
    ),
    "near-identity weights of a concatenation": (
        {"channels": (EGO, MEAN), "combine": Concat(), "transform": NearIdentity(), "head": Head(),
         "encoder": Embed()}, r"NearIdentity requires a COMBINE that keeps the width",
    ),
    "a shared gate without a head": (
        {"channels": (EGO, MEAN), "combine": OrderedGate(4), "encoder": Embed()},
        "OrderedGate with a shared gate requires the width of Z⁰",
    ),
    "attention over predictions": (
        {"channels": (Raw() * Attention(),), "transform": NoTransform(), "encoder": Predict()},
        r"Attention requires transform=Linear\(\)",
    ),
    "heads of a mean": (
        {"channels": (MEAN,), "transform": Linear(heads=Heads(2))},
        r"Raw\(\) \* RowMean\(\) does not support heads; use Attention",
    ),
    "all pairs with a transform": (
        {"channels": (AllPairs() * ClosedFormCoefficients(),)}, r"use transform=NoTransform\(\)",
    ),
    "the initial state of raw features": (
        {"channels": (EGO.with_input("initial"), MEAN), "combine": Add()}, "input Z⁰ requires",
    ),
    "the initial state and a concatenation": (
        {"channels": (EGO.with_input("initial"), MEAN), "combine": Concat(), "encoder": Embed(),
         "head": Head()}, "input Z⁰ requires",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("parts", "message"), INVALID.values(), ids=INVALID)
def test_an_invalid_architecture_is_rejected(parts, message):
    with pytest.raises(HeterophilyError, match=f"invalid architecture: .*{message}"):
        Architecture(**parts)


@pytest.mark.parametrize("method", NETWORKS.values(), ids=NETWORKS)
def test_published_architectures_are_valid(method):
    assert find_problem(method().architecture()) == ""


def make_graph(*, sparse):
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(12, 5, generator=generator) * (torch.rand(12, 5, generator=generator) < 0.6)
    edges = torch.randint(12, (30, 2), generator=generator)
    features = sp.csr_array(x.numpy()) if sparse else x
    return Graph.from_edges(edges, features, labels=torch.arange(12) % 3)


def losses_of(method, graph):
    nodes = torch.arange(graph.n_nodes)
    network = build(method, graph)
    network.initialize_states(graph, nodes)
    logits = network(graph)
    assert logits.shape == (graph.n_nodes, graph.n_classes)
    return network.loss(logits, graph, nodes)


@pytest.mark.parametrize("sparse", [False, True])
def test_whatever_the_checks_accept_trains(sparse):
    """Every combination of these parts is rejected before the first epoch, or has a finite loss."""
    graph, accepted, rejected = make_graph(sparse=sparse), 0, 0
    for channels, combine, fuse, encoder, transform, head in itertools.product(
        [(MEAN,), (EGO, MEAN), (EGO.with_input("initial"), Raw() * SignedAttention()),
         (EGO, Raw() * Gate(), Raw() * GateComplement()), (EGO, MEAN, STRUCTURE)],
        [SingleChannel(), Add(), WeightedAdd(0.5), Concat()],
        [LastLayer(), ConcatLayers(), WeightedLayerSum()],
        [RawFeatures(), Embed(), Predict()],
        [Linear(), NoTransform(), NearIdentity()],
        [None, Head()],
    ):  # fmt: skip
        parts = {"combine": combine, "fuse": fuse, "encoder": encoder, "transform": transform}
        try:
            architecture = Architecture(channels=channels, head=head, **parts)
            loss = losses_of(CustomMethod("mine", architecture, width=4), graph)
        except HeterophilyError:
            rejected += 1
        else:
            accepted += 1
            assert loss.isfinite(), architecture
    assert accepted > 150
    assert rejected > 300


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"channels": (MEAN,), "transform": NoTransform(), "head": Head()}, "NoTransform does not"),
        ({"channels": (Raw() * SignedAttention(),)}, "SignedAttention does not accept sparse"),
    ],
)
def test_parts_that_need_dense_features_are_rejected_when_the_network_is_built(parts, message):
    method = CustomMethod("mine", Architecture(**parts))
    assert losses_of(method, make_graph(sparse=False)).isfinite()
    sparse = make_graph(sparse=True)
    with pytest.raises(HeterophilyError, match=f"mine cannot be used with .*{message}.*input_layer"):
        build(method, sparse)
    assert build(method, sparse, input_layer=True)(sparse).isfinite().all()


def test_gates_on_two_neighborhoods_are_valid_and_independent():
    hoods = (Raw(), Hop(2))
    channels = tuple(hood * gate for hood in hoods for gate in (Gate(), GateComplement()))
    architecture = Architecture(channels=channels, combine=Add(), losses=(GateLoss(),))
    graph = make_graph(sparse=False)
    network = build(CustomMethod("mine", architecture), graph)
    nodes = torch.arange(graph.n_nodes)
    network.loss(network(graph), graph, nodes).backward()
    gates = network.context.aux_outputs["gate"]
    assert [hood for hood, *_ in gates[:2]] == list(hoods)
    assert all(len(gate) == pattern.n_entries for _, pattern, gate in gates)
    for weights in network.stacks[0][0].guidance:
        assert all(p.grad is not None and p.grad.any() for p in weights.parameters())


def test_powers_of_fixed_matrices_are_valid():
    assert Architecture(channels=(Power(2) * SymmetricMean(),)).channels

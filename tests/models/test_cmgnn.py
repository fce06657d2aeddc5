"""CMGNN equals its equations, with the prototypes as K more rows, and hides its answers.

Ĉ, M̂, the prototypes and the degrees are computed here from the graph, not read from the network.
"""

from itertools import product

import pytest
import torch
from torch.nn import functional as F

from heterophily import HeterophilyError
from heterophily.htmp.method import make_method
from heterophily.models.building import build
from heterophily.models.cmgnn.method import CMGNN, ablation_variants
from heterophily.models.cmgnn.parts import Discrimination
from heterophily.models.cmgnn.state import CompatibilityEstimate

P, K, N = 0.4, 3, 20
WITHOUT_SUPPLEMENT = "without supplementary messages"
WITHOUT_DISCRIMINATION = "without discrimination loss"
WITHOUT_BOTH = "without both"
SUPPLEMENTARY_LABELS = ("predicted", "masked", "true")


def variant(name, **settings):
    """Return a variant of the ablation study."""
    return ablation_variants(CMGNN(width=5, **settings))[name]


def one_hot(graph, train, soft):
    """Ĉ: true labels on training nodes, `soft` elsewhere."""
    known = soft.clone()
    known[train] = torch.eye(K)[graph.labels[train]]
    return known


def estimate(graph, dense, known, *, overwritten=False, senders=None):
    """M̂ = norm1(norm1((w ⊙ g ⊙ Ĉ)ᵀ) norm1(A (g ⊙ Ĉ))), node by node; `senders` replaces the A of the messages."""
    a, g, w = dense.adjacency(graph), torch.zeros(N), torch.ones(N)
    for i in range(N):
        g[i] = (known[i] * (known[i] + 1e-8).log()).sum() + torch.tensor(float(K)).log()
        d = max(int(a[i].sum()), 1)
        if d <= 3 * K:
            w[i] = 0.25 + d / (4 * K)
        if d <= K and not overwritten:
            w[i] = d / (2 * K)
    g[g < 1e-6] = 0
    sure = g[:, None] * known
    return dense.norm1(dense.norm1((w[:, None] * sure).T) @ dense.norm1((a if senders is None else senders) @ sure))


def means(graph, dense, train):
    """X_ptt: the mean features of the training nodes of each class."""
    x, found = dense.features(graph), torch.zeros(K, graph.n_features)
    for k in range(K):
        members = [i for i in train.tolist() if graph.labels[i] == k]
        found[k] = x[members].mean(dim=0) if members else 0
    return found


def positions(graph, dense, train):
    """The means of the published program: places in the list of training nodes as node numbers."""
    labels = [*graph.labels[train].tolist(), *range(K)]
    places = [[j for j, label in enumerate(labels) if label == k] for k in range(K)]
    return torch.stack([dense.features(graph)[place].mean(dim=0) for place in places])


def encode(w, x, r, degrees, drop, drop_entries, *, p, double):
    """Z⁰, from features, or from features and structure."""
    x = drop(x, p)
    if not hasattr(w, "structure"):
        return torch.relu(x @ w.dense[0].weight + w.dense[0].bias)
    x = drop(x, p) if double else x
    h_x = x @ w.features.weight + w.features.bias
    dropped = drop_entries(r, 1 - (1 - p) ** 2 if double else p)
    structure = torch.cat([dropped, drop(degrees, p)], dim=1)
    h_a = structure @ w.structure.weight + w.structure.bias
    return torch.relu(drop(torch.cat([h_x, h_a], dim=1), p) @ w.both.weight + w.both.bias)


def combine(w, messages, degrees):
    """Σ_r α_r ⊙ M_r."""
    joined = torch.cat([*messages, degrees], dim=1)
    inner = torch.sigmoid(joined @ w.attend.weight + w.attend.bias)
    alpha = (inner @ w.mix.weight + w.mix.bias).softmax(dim=1)
    return torch.relu(sum(alpha[:, r : r + 1] * m for r, m in enumerate(messages)))


def transcribe(network, graph, dense, *, relu_first=True, p=0.0, double=False, b_sup=None, prototypes=None, means=None):
    """Logits and Z of nodes and prototypes; `b_sup` (N+K, K) or None without channel 2.

    `means` are the matrices of the channels of neighbors, by default that of the symmetrized graph.
    """
    f = dense.filters(graph)
    extra = 0 if prototypes is None else K
    x = f.X if prototypes is None else torch.cat([f.X, prototypes])
    r = torch.cat([f.R, torch.zeros(extra, N)])
    degrees = torch.cat([f.A.sum(dim=1).clamp_min(1), torch.zeros(extra)])[:, None]
    pattern = torch.cat([f.A, torch.zeros(extra, N)])

    def drop_entries(m, rate):
        return dense.drop_entries(m, pattern, rate)

    rates = {"p": p, "double": double}
    states = [encode(network.encoder, x, r, degrees, dense.drop, drop_entries, **rates)]
    wide = [F.pad(each, (0, extra, 0, extra)) for each in ([f.R] if means is None else means)]
    for layer in network.stacks[0]:
        z, w = states[-1], layer.transform
        messages = [torch.relu(z @ w.W0)]
        for number, mean in enumerate(wide, start=1):
            u = z @ getattr(w, f"W{number}")
            messages.append(mean @ torch.relu(u) if relu_first else torch.relu(mean @ u))
        if b_sup is not None:
            heard = z[N:] @ getattr(w, f"W{len(messages)}")
            last = b_sup @ torch.relu(heard) if relu_first else torch.relu(b_sup @ heard)
            messages.append(last)
        states.append(combine(layer.combine, messages, degrees))
    z = dense.drop(torch.cat(states, dim=1), p)
    return z @ network.head.weight + network.head.bias, z


def similarity_of(m, z):
    """L_dis, pair by pair."""
    v = [row / row.norm().clamp_min(1e-12) for row in m @ z[-K:]]
    pairs = [(i, j) for i in range(K) for j in range(K) if i != j]
    return sum((v[i] * v[j]).sum() for i, j in pairs) / (K * (K - 1))


@pytest.fixture
def believing(graph, train, dense):
    """A network that has taken up predictions once, and Ĉ, M̂ and B_sup beside it."""

    def make(name="", **settings):
        method = variant(name, **settings) if name else make_method(CMGNN, {"width": 5, **settings})
        network = build(method, graph)
        network.initialize_states(graph, train)
        logits = 2 * torch.randn(N, K)
        network.update_states(graph, logits)
        soft = logits.softmax(dim=1)
        known = one_hot(graph, train, soft)
        m = estimate(graph, dense, known)
        return network, soft, known, m

    return make


def b_sup(dense, labels, m):
    return dense.norm1(torch.cat([labels, torch.eye(K)]) @ m)


@pytest.mark.parametrize(("structure", "relu_first", "n_layers"), list(product([False, True], [False, True], [1, 2])))
def test_cmgnn_equals_its_equations(graph, train, dense, agree, believing, structure, relu_first, n_layers):
    settings = {"structure": structure, "relu_first": relu_first, "n_layers": n_layers}
    network, soft, _, m = believing(**settings)
    network.eval()
    parts = {"b_sup": b_sup(dense, soft, m), "prototypes": means(graph, dense, train)}

    def expected():
        return transcribe(network, graph, dense, relu_first=relu_first, **parts)[0][:N]

    agree(network, graph, expected)


@pytest.mark.parametrize("direction", ["in", "out", "both"])
@pytest.mark.parametrize("weighted", [False, True])
def test_cmgnn_receives_messages_along_a_direction(small_graph, dense, agree, direction, weighted):
    graph = small_graph()
    if weighted:
        graph = graph.replace(weights=torch.rand(graph.n_edges, dtype=torch.float32) + 0.1)
    train, a = graph.split("0").train, torch.tensor(graph.to_scipy().toarray()).double().fill_diagonal_(0)
    network = build("cmgnn", graph, width=5, direction=direction).eval()
    network.initialize_states(graph, train)
    soft = (2 * torch.randn(N, K)).softmax(dim=1)
    network.update_states(graph, soft.log())
    counts = ((a > 0).double() + (a.T > 0).double()).clamp_min(1)
    senders = {"in": a.T, "out": a, "both": (a + a.T) / counts}[direction]
    m = estimate(graph, dense, one_hot(graph, train, soft), senders=senders)
    torch.testing.assert_close(network.state_summary()["compatibility"], m)
    channels = {"in": [a.T], "out": [a], "both": [a.T, a]}[direction]
    parts = {"b_sup": b_sup(dense, soft, m), "prototypes": means(graph, dense, train)}
    parts["means"] = [dense.row(each) for each in channels]
    agree(network, graph, lambda: transcribe(network, graph, dense, **parts)[0][:N])


def test_sparse_features_change_nothing(small_graph, dense, agree):
    graph = small_graph(sparse=True)
    train = graph.split("0").train
    network = build("cmgnn", graph, width=5, structure=True).eval()
    network.initialize_states(graph, train)
    soft = torch.full((N, K), 1 / K)
    m = estimate(graph, dense, one_hot(graph, train, soft))
    parts = {"b_sup": b_sup(dense, soft, m), "prototypes": means(graph, dense, train)}
    agree(network, graph, lambda: transcribe(network, graph, dense, **parts)[0][:N])


@pytest.mark.parametrize("relu_first", [False, True])
@pytest.mark.parametrize("heard", SUPPLEMENTARY_LABELS)
def test_the_loss_asks_nodes_and_prototypes_and_separates_classes(
    graph, train, dense, agree, believing, marked_dropout, heard, relu_first
):
    settings = {"discrimination_weight": 0.7, "relu_first": relu_first, "dropout": P}
    network, soft, known, m = believing(supplementary_labels=heard, **settings)
    prototypes = means(graph, dense, train)
    labels = torch.cat([graph.labels, torch.arange(K)])

    def expected():
        hidden = network.context.carry["masked"]
        asked = train if hidden is None else train[hidden[train]]
        seen = {"predicted": soft, "true": known}.get(heard)
        if seen is None:
            seen = known.clone()
            seen[asked] = soft[asked]
        parts = {"b_sup": b_sup(dense, seen, m), "prototypes": prototypes}
        logits, z = transcribe(network, graph, dense, relu_first=relu_first, p=P, **parts)
        rows = torch.cat([asked, torch.arange(N, N + K)])
        return F.cross_entropy(logits[rows], labels[rows]) + 0.7 * similarity_of(m, z)

    agree(network, graph, expected, actual=lambda: network.loss(network(graph), graph, train))
    assert marked_dropout == [P, P]


@pytest.mark.parametrize("double", [False, True])
def test_structure_is_dropped_once_or_twice(graph, train, dense, agree, believing, marked_dropout, double):
    kind = "double" if double else "single"
    network, soft, _, m = believing(structure=True, structure_dropout=kind, dropout=P)
    parts = {"b_sup": b_sup(dense, soft, m), "prototypes": means(graph, dense, train)}

    def expected():
        return transcribe(network, graph, dense, p=P, double=double, **parts)[0][:N]

    agree(network, graph, expected)
    once = [P, P, P, P, P]  # X, R, degrees, [H_x ‖ H_a] and Z
    assert marked_dropout == ([P, P, 1 - (1 - P) ** 2, P, P, P] if double else once)


def test_two_dropouts_are_one_of_their_joint_rate():
    torch.manual_seed(0)
    ones = torch.ones(400_000)
    twice, once = F.dropout(F.dropout(ones, P), P), F.dropout(ones, 1 - (1 - P) ** 2)
    torch.testing.assert_close(twice.mean(), once.mean(), rtol=0.01, atol=0)
    torch.testing.assert_close(twice.var(), once.var(), rtol=0.01, atol=0)


def test_the_reference_has_every_quirk_of_the_program(small_graph):
    network = build("cmgnn", small_graph(), preset="reference", structure=True)
    (estimate,) = network.architecture.states
    assert estimate == CompatibilityEstimate("true", "positions", "overwritten", "training")
    assert network.architecture.encoder.structure_dropout == "double"
    assert network.method.loss == "ce_of_probabilities"
    assert network.states[0].update_from == "training"
    assert build("cmgnn", small_graph()).states[0].update_from == "evaluation"


@pytest.mark.parametrize("structure", [False, True])
def test_the_reference_equals_the_program(graph, train, dense, agree, believing, marked_dropout, structure):
    settings = {"structure": structure, "dropout": P, "discrimination_weight": 0.7}
    network, _, known, _ = believing(preset="reference", **settings)
    m = estimate(graph, dense, known, overwritten=True)
    prototypes = positions(graph, dense, train)
    parts = {"b_sup": b_sup(dense, known, m), "prototypes": prototypes, "double": True}

    def expected():
        logits, z = transcribe(network, graph, dense, p=P, **parts)
        rows = torch.cat([train, torch.arange(N, N + K)])
        targets = torch.cat([graph.labels[train], torch.arange(K)])
        return dense.ce_of_probabilities(logits[rows], targets) + 0.7 * similarity_of(m, z)

    agree(network, graph, expected, actual=lambda: network.loss(network(graph), graph, train))


def soft_label(graph, train, node, *, heard, hidden=None, logits=None):
    """What one node weighs the prototypes with: B_sup is Ĉ if M̂ is the identity."""
    network = build("cmgnn", graph, width=5, supplementary_labels=heard)
    network.initialize_states(graph, train)
    if logits is not None:
        network.update_states(graph, logits)
    network.states[0].compatibility = torch.eye(K)
    return network.states[0].prototype_weights(hidden)[node]


@pytest.mark.parametrize("round_", ["first", "later"])
@pytest.mark.parametrize(
    ("heard", "is_hidden", "leaks"),
    [
        ("predicted", None, False),
        ("masked", None, False),
        ("masked", True, False),
        ("masked", False, True),
        ("true", None, True),
    ],
)
def test_a_node_that_is_asked_does_not_hear_its_own_label(small_graph, heard, is_hidden, leaks, round_):
    graph = small_graph()
    train = graph.split("0").train
    node = int(train[4])
    others = graph.labels.clone()
    others[node] = (others[node] + 1) % K
    hidden = None if is_hidden is None else torch.arange(N) == (node if is_hidden else -1)
    logits = None if round_ == "first" else torch.randn(N, K)
    rows = [
        soft_label(g, train, node, heard=heard, hidden=hidden, logits=logits)
        for g in (graph, graph.replace(labels=others))
    ]
    assert torch.equal(*rows) != leaks
    if leaks:
        assert torch.equal(rows[0], torch.eye(K)[graph.labels[node]])


def test_the_forward_pass_hides_what_the_loss_asks_for(small_graph, dense):
    graph = small_graph()
    train = graph.split("0").train
    network = build("cmgnn", graph, width=5, supplementary_labels="masked").train()
    network.initialize_states(graph, train)
    logits = torch.randn(N, K)
    network.update_states(graph, logits)
    network.states[0].compatibility = torch.eye(K)
    out = network(graph)
    hidden = network.context.carry["masked"]
    assert 0 < hidden.sum() < len(train)
    assert set(hidden.nonzero().flatten().tolist()) <= set(train.tolist())
    heard, truth = network.context.carry["prototype_weights"][:N], torch.eye(K)[graph.labels]
    torch.testing.assert_close(heard[hidden], logits.softmax(dim=1)[hidden])
    shown = network.states[0].is_train_node & ~hidden
    assert torch.equal(heard[shown], truth[shown])
    changed = graph.labels.clone()
    changed[shown] = (changed[shown] + 1) % K
    network.context.graph.labels[:N] = changed
    loss = network.loss(out, graph, train)
    network.context.graph.labels[:N] = graph.labels
    assert torch.equal(loss, network.loss(out, graph, train))


def test_other_nodes_are_hidden_in_every_step_and_none_in_evaluation(small_graph):
    graph = small_graph()
    train = graph.split("0").train
    network = build("cmgnn", graph, width=5, supplementary_labels="masked", masked_fraction=0.25)
    network.initialize_states(graph, train)
    drawn = [network.states[0].sample_masked_nodes() for _ in range(200)]
    share = torch.stack(drawn)[:, train].double().mean(dim=0)
    assert ((share - 0.25).abs() < 0.15).all()
    network.eval()(graph)
    assert network.context.carry["masked"] is None


@pytest.mark.parametrize("structure", [False, True])
def test_without_supplement_prototypes_are_only_asked(graph, train, dense, agree, believing, structure):
    settings = {"structure": structure, "dropout": 0.0, "discrimination_weight": 0.7}
    network, _, _, m = believing(WITHOUT_SUPPLEMENT, **settings)
    prototypes = means(graph, dense, train)
    assert network.stacks[0][0].combine.attend.weight.shape == (2 * 5 + 1, 2)

    def expected():
        logits, z = transcribe(network, graph, dense, prototypes=prototypes)
        rows = torch.cat([train, torch.arange(N, N + K)])
        targets = torch.cat([graph.labels[train], torch.arange(K)])
        return F.cross_entropy(logits[rows], targets) + 0.7 * similarity_of(m, z)

    agree(network, graph, expected, actual=lambda: network.loss(network(graph), graph, train))


def test_without_discrimination_only_the_term_is_missing(graph, train, dense, agree, believing):
    network, soft, _, m = believing(WITHOUT_DISCRIMINATION, dropout=0.0)
    parts = {"b_sup": b_sup(dense, soft, m), "prototypes": means(graph, dense, train)}

    def expected():
        logits, _ = transcribe(network, graph, dense, **parts)
        rows = torch.cat([train, torch.arange(N, N + K)])
        return F.cross_entropy(logits[rows], torch.cat([graph.labels[train], torch.arange(K)]))

    agree(network, graph, expected, actual=lambda: network.loss(network(graph), graph, train))
    assert len(network.terms) == 0


def without_both(network, graph, train, dense):
    logits, _ = transcribe(network, graph, dense)
    return F.cross_entropy(logits[train], graph.labels[train])


@pytest.mark.parametrize("structure", [False, True])
def test_without_both_there_are_no_prototypes(graph, train, dense, agree, structure):
    network = build(variant(WITHOUT_BOTH, structure=structure, dropout=0.0), graph)
    network.initialize_states(graph, train)
    agree(
        network, graph, lambda: without_both(network, graph, train, dense),
        actual=lambda: network.loss(network(graph), graph, train),
    )  # fmt: skip
    assert not network.states
    assert network.context.n_virtual == 0


def test_without_supplement_and_weight_there_are_no_prototypes_either(graph, train, dense, agree, believing):
    network = build(variant(WITHOUT_SUPPLEMENT, discrimination_weight=0.0, dropout=0.0), graph)
    network.initialize_states(graph, train)
    agree(
        network, graph, lambda: without_both(network, graph, train, dense),
        actual=lambda: network.loss(network(graph), graph, train),
    )  # fmt: skip
    assert not network.states


@pytest.mark.parametrize(("rule", "by_hand"), [("nodes", means), ("positions", positions)])
@pytest.mark.parametrize("sparse", [False, True])
def test_prototypes_are_means_of_nodes_or_of_positions(small_graph, dense, rule, by_hand, sparse):
    graph = small_graph(sparse=sparse)
    train = graph.split("0").train
    network = build("cmgnn", graph, width=5, prototype_index=rule)
    network.initialize_states(graph, train)
    torch.testing.assert_close(network.states[0].prototypes, by_hand(graph, dense, train))


def test_prototypes_are_means_of_normalised_features(small_graph, dense):
    graph = small_graph()
    train = graph.split("0").train
    network = build("cmgnn", graph, width=5, feature_norm="l1")
    network.initialize_states(graph, train)
    normed = graph.replace(features=dense.norm1(graph.features))
    torch.testing.assert_close(network.states[0].prototypes, means(normed, dense, train))


def test_positions_beyond_the_last_node_are_left_out(small_graph, dense):
    graph = small_graph()
    network = build("cmgnn", graph, width=5, prototype_index="positions")
    network.initialize_states(graph, torch.arange(N))
    # Positions are node numbers if all nodes train, and N + k is nobody.
    expected = means(graph, dense, torch.arange(N))
    torch.testing.assert_close(network.states[0].prototypes, expected)


def test_a_class_without_training_node_has_a_zero_prototype(small_graph):
    graph = small_graph()
    train = graph.split("0").train
    nodes = train[graph.labels[train] != 2]
    network = build("cmgnn", graph, width=5)
    network.initialize_states(graph, nodes)
    assert not network.states[0].prototypes[2].any()
    assert network.states[0].prototypes[:2].any(dim=1).all()
    assert network.loss(network(graph), graph, nodes).isfinite()


def test_the_first_belief_is_uniform_where_labels_are_unknown(graph, train, dense):
    network = build("cmgnn", graph, width=5)
    network.initialize_states(graph.with_labels_only(train), train)
    known = one_hot(graph, train, torch.full((N, K), 1 / K))
    torch.testing.assert_close(network.states[0].soft_labels, known)
    torch.testing.assert_close(network.states[0].supplementary_labels, torch.full((N, K), 1 / K))
    torch.testing.assert_close(network.states[0].compatibility, estimate(graph, dense, known))


def test_new_predictions_change_the_belief_but_not_the_labels_of_training_nodes(small_graph, dense):
    graph = small_graph()
    train, logits = graph.split("0").train, torch.randn(N, K, requires_grad=True)
    network = build("cmgnn", graph, width=5)
    network.initialize_states(graph, train)
    before = network.states[0].compatibility.clone()
    network.update_states(graph, logits)
    known = one_hot(graph, train, logits.detach().softmax(dim=1))
    assert torch.equal(network.states[0].soft_labels[train], torch.eye(K)[graph.labels[train]])
    torch.testing.assert_close(network.states[0].soft_labels, known)
    torch.testing.assert_close(network.states[0].supplementary_labels, logits.detach().softmax(dim=1))
    torch.testing.assert_close(network.states[0].compatibility, estimate(graph, dense, known))
    assert not torch.allclose(before, network.states[0].compatibility)
    assert not network.states[0].supplementary_labels.requires_grad


def test_the_belief_is_saved_and_has_no_gradient(small_graph):
    graph = small_graph()
    train = graph.split("0").train
    network = build("cmgnn", graph, width=5)
    network.initialize_states(graph, train)
    network.update_states(graph, torch.randn(N, K))
    names = {"prototypes", "soft_labels", "supplementary_labels", "compatibility", "is_train_node"}
    names = {f"states.0.{name}" for name in (*names, "initialized", "training_graph")}
    state = network.state_dict()
    assert {name for name in state if name.startswith("states.")} == names
    assert not any(name.startswith("states.") for name, _ in network.named_parameters())
    network.loss(network(graph), graph, train).backward()
    assert not any(state[name].requires_grad for name in names)


@pytest.mark.parametrize("heard", SUPPLEMENTARY_LABELS)
def test_a_loaded_state_brings_its_belief_even_after_a_forward_pass(small_graph, heard):
    graph = small_graph()
    train = graph.split("0").train
    network, other = (build("cmgnn", graph, width=5, supplementary_labels=heard) for _ in range(2))
    network.initialize_states(graph, train)
    network.update_states(graph, torch.randn(N, K))
    other.initialize_states(graph, graph.split("0").val)
    other.eval()(graph)  # with its own prototypes
    other.load_state_dict(network.state_dict())
    assert torch.equal(other(graph), network.eval()(graph))


def test_the_discrimination_loss_drives_desired_messages_apart(small_graph):
    graph = small_graph()
    train, found = graph.split("0").train, []
    for weight in (0.0, 5.0):
        torch.manual_seed(0)
        network = build("cmgnn", graph, width=8, dropout=0.0, discrimination_weight=weight)
        network.initialize_states(graph, train)
        adam = torch.optim.Adam(network.parameters(), lr=0.01)
        for _ in range(30):
            adam.zero_grad()
            network.loss(network(graph), graph, train).backward()
            adam.step()
        network(graph)
        found.append(Discrimination(1.0)(network, network.context, train, None).item())
    assert found[1] < found[0] - 0.05


def test_relabelling_classes_only_moves_the_columns_of_the_belief(small_graph):
    graph, order = small_graph(), torch.tensor([2, 0, 1])
    train, logits = graph.split("0").train, torch.randn(N, K)
    network, other = (build("cmgnn", graph, width=5) for _ in range(2))
    network.initialize_states(graph, train)
    network.update_states(graph, logits)
    moved = graph.replace(labels=order[graph.labels])
    other.initialize_states(moved, train)
    other.update_states(moved, logits[:, order.argsort()])
    torch.testing.assert_close(other.states[0].compatibility[order][:, order], network.states[0].compatibility)
    torch.testing.assert_close(other.states[0].prototypes[order], network.states[0].prototypes)


@pytest.mark.parametrize(
    "wrong",
    [
        {"supplementary_labels": "guessed"},
        {"prototype_index": "names"},
        {"degree_weight": "two_branches"},
        {"pseudo_labels": "test"},
        {"structure_dropout": "triple", "structure": True},
        {"masked_fraction": 0.0},
        {"masked_fraction": 1.5},
    ],
)
def test_a_wrong_choice_is_refused(small_graph, wrong):
    with pytest.raises(HeterophilyError, match=f"{next(iter(wrong))} must be"):
        build(CMGNN, small_graph(), **wrong)


def test_weights_have_the_laws_of_the_card(small_graph, law):
    network = build("cmgnn", small_graph(n_features=400), width=300, structure=True)
    w, gate = network.stacks[0][0].transform, network.stacks[0][0].combine
    for weight in (w.W0, w.W1, w.W2):
        law.uniform(weight, 300**-0.5)
    assert not hasattr(w, "b0")
    law.uniform(gate.attend.weight, 901**-0.5)
    encoder = network.encoder
    for dense, rows in ((encoder.features, 400), (encoder.structure, N + 1), (encoder.both, 600)):
        law.uniform(dense.weight, rows**-0.5)
        law.uniform(dense.bias, rows**-0.5)
    law.uniform(network.head.weight, 900**-0.5)

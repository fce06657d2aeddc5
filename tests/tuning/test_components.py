"""Component search: every answer makes a mechanism that can be built, and known ones are among them."""

import random

import pytest
import scipy.sparse as sp
import torch

from heterophily import HeterophilyError, NodeClassifier, build
from heterophily.core.spaces import Choice
from heterophily.htmp.method import CustomMethod, search_space
from heterophily.models import NETWORKS, REGISTRY, find_method
from heterophily.training.trainer import train
from heterophily.tuning.components import MENU, SETTINGS, STARTS, ArchitectureSearch, make_architecture
from heterophily.tuning.files import method_source, write_method
from heterophily.views.console import row_of

WORDS = {"max_epochs": 2, "width": 32}


@pytest.fixture
def sparse(graph):
    x = torch.where(graph.features > 2, graph.features, 0.0)
    return type(graph).from_scipy(graph.to_scipy(), sp.csr_array(x.numpy()), labels=graph.labels)


@pytest.fixture
def draw():
    """Draw candidates with random answers; notes every answer to every question."""
    chance, given = random.Random(0), set()

    def answer(name):
        space = MENU[name]
        drawn = isinstance(space, Choice)
        value = chance.choice(space.values) if drawn else chance.uniform(space.low, space.high)
        if drawn:
            given.add((name, value))
        return value

    def candidate(subject=None):
        return (subject or ArchitectureSearch()).candidate(answer)

    candidate.given, candidate.answer = given, answer
    return candidate


def test_every_answer_makes_a_network_that_learns(graph, sparse, draw):
    for i in range(120):
        drawn = draw(ArchitectureSearch(WORDS))
        on = graph if i % 2 else sparse
        network = build(drawn.method, on).train()
        nodes = graph.split("0").train
        network.initialize_states(on, nodes)
        loss = network.loss(network(on), on, nodes)
        loss.backward()
        assert torch.isfinite(loss), drawn.method


def test_every_option_of_the_menu_is_asked_for_sooner_or_later(draw):
    for _ in range(1500):
        make_architecture(draw.answer)
        draw.answer("discrimination_weight")
    for name in SETTINGS:
        for _ in range(50):
            draw.answer(name)
    options = {(name, v) for name, s in MENU.items() for v in getattr(s, "values", ())}
    assert draw.given == options


def test_a_mechanism_has_its_questions_answered(graph):
    (start, *_) = ArchitectureSearch().initial_points
    changed = {**start, "neighbors_guidance": "gate", "fuse": "last", "relu": "layer", "ego": False}
    architecture = ArchitectureSearch().candidate(changed.__getitem__).method.architecture()
    assert [repr(c.guidance) for c in architecture.channels[:2]] == ["Gate()", "GateComplement()"]
    assert architecture.symbols["fuse"] == "Z^L"
    assert (architecture.message_activation, architecture.activation) == ("none", "relu")


@pytest.mark.parametrize("at", range(len(STARTS)))
def test_a_search_begins_with_rows_of_the_papers_table(at):
    known = list(STARTS)[at]
    start = ArchitectureSearch().initial_points[at]
    found = row_of(ArchitectureSearch().candidate(start.__getitem__).method)
    for key in ("neighborhoods", "guidance", "combine", "fuse"):
        assert found[key] == row_of(REGISTRY[known])[key]


def test_fixed_answers_are_kept_and_wrong_ones_refused(draw):
    subject = ArchitectureSearch({"encoder": "both", "prototypes": False, "width": 64, "patience": 5})
    assert {"encoder", "prototypes", "width"}.isdisjoint(subject.space)
    drawn = draw(subject)
    assert type(drawn.method.architecture().encoder).__name__ == "FeaturesAndStructure"
    assert drawn.method.architecture().states == ()
    assert (drawn.settings["width"], drawn.settings["patience"]) == (64, 5)
    for wrong, words in [
        ({"encodre": "both"}, 'unknown question or setting of htmp "encodre"; did you mean "encoder"'),
        ({"encoder": "none"}, "encoder must be one of features, both"),
        ({"dropout": "much"}, "dropout must be a number, got 'much'"),
        ({"max_epochs": 0}, "max_epochs must be at least 1"),
    ]:
        with pytest.raises(HeterophilyError, match=words):
            ArchitectureSearch(wrong)


def test_a_method_is_the_same_after_writing_and_reading(draw):
    for _ in range(40):
        method = draw().method
        names = {}
        exec(method_source(method, description="Found."), names)
        assert names["METHOD"] == method


@pytest.mark.parametrize("model", NETWORKS)
def test_published_architectures_can_be_written_too(model):
    names = {}
    method = CustomMethod("mine", NETWORKS[model]().architecture())
    exec(method_source(method, description="Known."), names)
    assert names["METHOD"] == method


def test_the_saved_winner_loads_and_fits_with_its_settings(graph, find, tmp_path):
    found = find("htmp", trials=4, write=tmp_path / "mine.py", settings={"width": 32})
    assert found.method.name == "htmp-ring"
    for path in (tmp_path / "out" / "method.py", tmp_path / "mine.py"):
        method = find_method(str(path))
        assert method == found.method
        assert method.learning_rate == found.settings["learning_rate"]
        assert method.max_epochs == 4
    fitted = NodeClassifier(str(path), device="cpu").fit(graph, split="0")
    assert fitted.predict().shape == (graph.n_nodes,)
    # The same network as that of the best trial.
    assert fitted.run_.scores["val"]["accuracy"] == found.best.scores[0]
    REGISTRY.pop(method.name)


def test_a_found_method_can_be_searched_in_turn(find, draw, tmp_path):
    drawn = draw()
    path = write_method(drawn.method, tmp_path / "mine.py", description="Drawn.")
    found = find(str(path), trials=2, splits="0")
    assert found.count("done") == 2
    assert set(found.best.answers) == set(search_space(drawn.method))
    REGISTRY.pop(drawn.method.name)


def test_methods_of_all_trials_train(graph, find):
    found = find("htmp", trials=12, splits="0", settings={"width": 32, "max_epochs": 2})
    assert found.count("done") == 12, [a.reason for a in found.trials]
    rows = set()
    for attempt in found.trials:
        drawn = ArchitectureSearch({"width": 32, "max_epochs": 2}).candidate(attempt.answers.__getitem__)
        rows.add(str(row_of(drawn.method)))
    assert len(rows) > 8
    assert train(drawn.method, graph, split=graph.split("0"))

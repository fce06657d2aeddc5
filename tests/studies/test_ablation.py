import pytest

from heterophily.htmp.combine import SingleChannel
from heterophily.htmp.encoder import Embed, Predict
from heterophily.htmp.method import make_method
from heterophily.models import NETWORKS, REGISTRY
from heterophily.models.building import build
from heterophily.models.cmgnn.method import CMGNN, ablation_variants
from heterophily.studies import ablation
from heterophily.studies.ablation import changes, variants_of
from heterophily.studies.tidy import StudyData, filter_rows, unique_values
from heterophily.views.matplotlib import save_figures

PAPER = ["full", "without supplementary messages", "without discrimination loss", "without both"]


def test_cmgnn_loses_what_it_loses_in_the_paper(graph, short):
    study = short(ablation.STUDY, graph)
    assert unique_values(study.rows, "variant") == PAPER
    assert {row["model"] for row in study.rows} == {"cmgnn"}
    assert len(study.rows) == 4 * 2
    weights = {v: filter_rows(study.rows, variant=v)[0]["parameters"] for v in PAPER}
    assert weights["without both"] < weights["full"] == weights["without discrimination loss"]
    assert weights["without both"] == weights["without supplementary messages"]


@pytest.mark.parametrize(
    ("model", "settings", "variants"),
    [
        ("gcn", {}, ["without Ã"]),
        ("mlp", {}, []),
        ("h2gcn", {}, ["without A", "without A_h2"]),
        ("appnp", {}, ["without I", "without Ã"]),
        ("acm-gcn", {}, ["without I", "without Ã ⊙ B̃^d", "without Ã ⊙ I-B̃^d"]),
        (
            "acm-gcn",
            {"structure_channel": True},
            ["without I", "without Ã ⊙ B̃^d", "without Ã ⊙ I-B̃^d", "without structure channel"],
        ),
        ("mixhop", {}, ["without I", "without A", "without A_h2", "without group lasso"]),
        ("glognn", {}, ["without I", "without 1", "without structure input"]),
        ("linkx", {}, ["without structure input"]),
        ("simp-gcn", {}, ["without similarity loss"]),
        (
            "trio",
            {},
            [
                *("without the sum", "without the mean", "without self-loops", "without the degree"),
                *("stopped by accuracy", "one member"),
            ],
        ),
    ],
)
def test_other_methods_lose_each_part_that_they_can_do_without(graph, model, settings, variants):
    method = make_method(REGISTRY[model], settings)
    found = variants_of(method)
    assert list(found) == ["full", *variants]
    assert found["full"] is method
    nodes = graph.labeled.nonzero().squeeze(1)
    for variant in found.values():
        network = build(variant, graph)
        network.initialize_states(graph, nodes)
        logits = network(graph)
        assert logits.shape == (graph.n_nodes, graph.n_classes)
        assert network.loss(logits, graph, nodes).isfinite()


@pytest.mark.parametrize("model", NETWORKS)
def test_every_variant_that_passes_the_checks_has_finite_logits_and_loss(graph, model):
    nodes = graph.labeled.nonzero().squeeze(1)
    for variant in variants_of(make_method(NETWORKS[model])).values():
        network = build(variant, graph)
        network.initialize_states(graph, nodes)
        logits = network(graph)
        assert logits.shape == (graph.n_nodes, graph.n_classes)
        assert network.loss(logits, graph, nodes).isfinite()


def test_a_variant_lacks_exactly_its_part():
    found = {n: v.architecture() for n, v in variants_of(REGISTRY["mixhop"]()).items()}
    symbols = {name: architecture.symbols["neighborhoods"] for name, architecture in found.items()}
    assert symbols["full"] == ["I", "A", "A_h2"]
    assert symbols["without A"] == ["I", "A_h2"]
    assert symbols["without group lasso"] == symbols["full"]
    assert found["without group lasso"].losses == ()
    assert found["without A"].losses == found["full"].losses
    alone = variants_of(REGISTRY["appnp"]())["without I"].architecture()
    assert isinstance(alone.combine, SingleChannel)
    assert alone.symbols["neighborhoods"] == ["Ã"]
    plain = variants_of(REGISTRY["gcn"]())["without Ã"].architecture()
    assert plain.symbols["neighborhoods"] == ["I"]


def test_structure_input_gives_way_to_features(graph):
    linkx = variants_of(REGISTRY["linkx"]())["without structure input"]
    assert isinstance(linkx.architecture().encoder, Embed)
    glognn = variants_of(REGISTRY["glognn"](dropout=0.3))["without structure input"]
    assert type(glognn.architecture().encoder) is Predict
    assert glognn.architecture().encoder.dropout == 0.3


def test_channels_of_one_name_are_numbered(graph):
    names = list(variants_of(REGISTRY["wrgnn"]()))
    assert len([name for name in names if "A_c ⊙" in name]) > 1
    assert len(set(names)) == len(names)


def test_own_variants(graph, short):
    bare = ablation_variants(CMGNN())["without both"]
    study = short(ablation.STUDY, graph, variants={"full": CMGNN(), "bare": bare})
    assert unique_values(study.rows, "variant") == ["full", "bare"]


def rows(dataset, **accuracies):
    return [
        {"dataset": dataset, "model": "cmgnn", "variant": v, "split": str(i), "seed": i, "run": "r",
         "test_accuracy": a + i, "paper": p}
        for v, (a, p) in accuracies.items() for i in range(3)
    ]  # fmt: skip


def test_changes_are_against_the_full_method_ours_and_the_papers():
    found = changes(
        [*rows("a", full=(50.0, 45.7), bare=(48.5, 41.0)), *rows("b", full=(70.0, None), bare=(70.5, None))]
    )
    assert [row["dataset"] for row in found] == ["a", "b"]
    assert found[0]["change"] == pytest.approx(-1.5)
    assert found[0]["paper"] == pytest.approx(-4.7)
    assert found[1]["change"] == pytest.approx(0.5)
    assert found[1]["paper"] is None


def test_the_papers_numbers_stand_beside(graph):
    row = {"model": "cmgnn", "dataset": "actor", "variant": "without both"}
    assert ablation.in_paper(row) == pytest.approx(35.61)
    assert ablation.in_paper({**row, "dataset": "zoo"}) is None
    assert ablation.in_paper({**row, "variant": "bare"}) is None
    assert ablation.in_paper({**row, "model": "gcn"}) is None


def test_figures_are_drawn_from_the_data_alone(tmp_path, no_training):
    no_training()
    study = StudyData("ablation", tmp_path, {"": rows("a", full=(50.0, 45.7), bare=(48.5, 41.0))})
    study.write()
    (path,) = save_figures(ablation.charts(StudyData.opened("ablation", tmp_path).by_file), tmp_path)
    assert path.name == "ablation-cmgnn.png"
    assert path.read_bytes().startswith(b"\x89PNG")
    assert ablation.charts(StudyData.opened("ablation").by_file) == []

"""Trials: the training runs behind a study, each a method on one split of a graph.

Settings come from the method, then from the committed table of the dataset, then from the caller. The run
on the i-th split has the seed i. A run whose rows are there already is not run again; rows of the same cell
under other settings are dropped, so that a mean never mixes two kinds of runs.
"""

import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from heterophily.core.errors import HeterophilyError
from heterophily.core.files import write_atomically
from heterophily.core.graph import Graph, Split
from heterophily.core.machine import prepare_process
from heterophily.core.progress import track
from heterophily.core.sparse import Pattern
from heterophily.data.splits import N_SPLITS, random_splits
from heterophily.htmp.identity import digest, identity_of
from heterophily.htmp.losses import AuxiliaryLoss
from heterophily.htmp.method import Method, make_method, replace_architecture
from heterophily.htmp.neighborhoods import Ego
from heterophily.htmp.network import Network
from heterophily.models import Model, find_method
from heterophily.models.building import build
from heterophily.models.settings import tuned
from heterophily.runs.record import RESULTS_VERSION
from heterophily.studies.tidy import Row, StudyData, Tables
from heterophily.training.result import TrainingResult
from heterophily.training.splits import with_validation
from heterophily.training.trainer import ImprovementCallback, train

CELL = ("dataset", "model", "variant")  # columns that name what the runs of a cell share
RUN = (*CELL, "split", "seed")


@dataclass(frozen=True)
class Trained:
    """A trained network with its run, and its logits of all nodes."""

    network: Network
    run: TrainingResult
    graph: Graph
    split: Split

    @cached_property
    def logits(self) -> Tensor:
        """Logits (N, K) of the kept state, which never saw a test label."""
        known = torch.cat([self.split.train, self.split.val])
        place = next(self.network.parameters()).device
        with torch.no_grad():
            logits: Tensor = self.network.eval()(self.graph.with_labels_only(known).to(place))
        return logits.cpu()

    @property
    def test_accuracy(self) -> float:
        """Share of test nodes that are classified rightly, in percent."""
        return 100 * self.run.score("test")


@dataclass(frozen=True, eq=False)
class Trial:
    """One run to be."""

    graph: Graph
    method: Method
    split: str
    split_nodes: Split
    seed: int
    device: str = "auto"
    columns: Mapping[str, Any] = field(default_factory=dict)  # what its rows say beside the results
    first: bool = False  # whether it is on the first split, of which a study may keep more
    keep: Path | None = None  # folder of trained weights, which studies share

    @cached_property
    def run_id(self) -> str:
        """Digests of what the runs of a cell share, and of split and seed.

        Methods that differ in a loss which changes nothing share their runs, and so do graphs that differ in
        edges that the method never uses.
        """
        architecture = self.method.architecture()
        felt = tuple(term for term in architecture.losses if not _is_idle(term))
        acting = replace_architecture(self.method, "", losses=felt)
        shared = digest(
            [identity_of(dataclasses.replace(acting, name="")), self._seen, RESULTS_VERSION]
        )
        nodes = [part.tolist() for part in self.split_nodes.parts.values()]
        return f"{shared[:8]}-{digest([nodes, self.seed])[:8]}"

    @property
    def _seen(self) -> str:
        used = self.method.architecture()
        ego = all(isinstance(channel.neighborhood, Ego) for channel in used.channels)
        if not ego or used.encoder.uses_structure or used.states:
            return self.graph.checksum
        n = self.graph.n_nodes
        return self.graph.replace(adjacency=Pattern.from_edges([], [], shape=(n, n))).checksum

    @property
    def labels(self) -> dict[str, Any]:
        """The columns that tell the rows of this run from others."""
        return {**self.columns, "split": self.split, "seed": self.seed, "run": self.run_id}

    def train(self, *, on_improvement: ImprovementCallback | None = None) -> Trained:
        """Run it, or take the kept weights of the same run where nobody watches."""
        path = None if self.keep is None else self.keep / f"{self.run_id}.safetensors"
        if path is not None and path.exists() and on_improvement is None:
            return self._kept(path)
        network, run = train(
            self.method,
            self.graph,
            split=self.split_nodes,
            seed=self.seed,
            device=self.device,
            on_improvement=on_improvement,
        )
        if path is not None:
            state = {k: v.detach().cpu().contiguous() for k, v in network.state_dict().items()}
            facts = {"run": json.dumps(run.to_dict())}
            write_atomically(path, lambda p: save_file(state, p, facts))
        return Trained(network, run, self.graph, self.split_nodes)

    def _kept(self, path: Path) -> Trained:
        with safe_open(path, framework="pt") as file:
            run = TrainingResult.from_dict(json.loads(file.metadata()["run"]))
            state = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        network = build(self.method, self.graph)
        network.load_state_dict(state)
        return Trained(network.eval(), run, self.graph, self.split_nodes)


def _is_idle(term: Any) -> bool:
    """Whether a term changes nothing: it counts 0, and draws no weights that would move later draws."""
    kind = type(term)
    plain = kind.weights is AuxiliaryLoss.weights and kind.initialize is AuxiliaryLoss.initialize
    return plain and not getattr(term, "weight", 1)


def trials_of(
    graph: Graph,
    model: Model,
    /,
    *,
    n_splits: int = N_SPLITS,
    seed: int = 0,
    device: str = "auto",
    settings: Mapping[str, Any] | None = None,
    tuned_as: tuple[str, str] | None = None,
    keep: Path | str | None = None,
    **columns: Any,
) -> list[Trial]:
    """A trial per split; `tuned_as` names the model and dataset whose committed settings are taken.

    In a folder `keep` trained weights stay, so that several studies of one method train it once.
    """
    found = find_method(model)
    # A method has all of its settings; a class or a name uses the committed ones.
    known = {} if isinstance(model, Method) else tuned(*(tuned_as or (found.name, graph.name)))
    method = make_method(found, {**known, **(settings or {})})
    named = {"dataset": graph.name, "model": method.name, **columns}
    return [
        Trial(
            graph,
            method,
            split,
            with_validation(graph, nodes, seed=seed + number),
            seed + number,
            device,
            named,
            first=number == 0,
            keep=None if keep is None else Path(keep),
        )
        for number, (split, nodes) in enumerate(splits_of(graph, n_splits).items())
    ]


def splits_of(graph: Graph, count: int) -> dict[str, Split]:
    """The first splits of a graph, or random ones where its own leave no labelled node for a test."""
    if count < 1:
        raise HeterophilyError(f"a study needs at least one split, got {count}")
    usable = {
        name: s for name, s in graph.splits.items() if bool((graph.labels[s.test] >= 0).any())
    }
    splits = usable or random_splits(graph, count=count)
    return dict(list(splits.items())[:count])


def run_trials(
    trials: Sequence[Trial],
    measure: Callable[[Trial], Tables],
    study: StudyData,
    *,
    workers: int = 1,
    paper: Callable[[Row], float | None] | None = None,
) -> None:
    """Measure the trials that the study lacks and write their rows as they come.

    `paper` looks up the number that the paper prints for a row of the main table, to stand beside ours.
    """
    fresh = _fresh(trials)
    study.drop_rows_unless(fresh)
    held = {_key(row) for row in study.rows}
    twins: dict[str, list[Trial]] = {}
    for trial in trials:
        if _key(trial.labels) not in held:
            twins.setdefault(trial.run_id, []).append(trial)
    lacking = [group[0] for group in twins.values()]
    found = track(_measured(lacking, measure, workers), study.name, total=len(lacking))
    for run_id, tables in found:
        study.drop_rows_unless(fresh)  # another command may have brought others since
        for trial in twins[run_id]:
            for table, rows in tables.items():
                labeled = [{**trial.labels, **row} for row in rows]
                if paper is not None and not table:
                    labeled = [{**row, "paper": paper(row)} for row in labeled]
                study.replace_rows(table, labeled, same=RUN)
        study.write()


def _key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row.get(name) for name in (*CELL, "run"))


def _fresh(trials: Sequence[Trial]) -> Callable[[Row], bool]:
    """Whether a row may stand beside those of the trials: it is of another cell, or of the same kind."""
    kinds = {tuple(t.columns.get(name) for name in CELL): t.run_id[:8] for t in trials}

    def fresh(row: Row) -> bool:
        kind = kinds.get(tuple(row.get(name) for name in CELL))
        return kind is None or str(row["run"]).startswith(kind)

    return fresh


def _measured(
    trials: Sequence[Trial], measure: Callable[[Trial], Tables], workers: int
) -> Iterator[tuple[str, Tables]]:
    if workers == 1 or len(trials) < 2:
        for trial in trials:
            yield trial.run_id, measure(trial)
        return
    from joblib import Parallel, delayed

    pool = Parallel(n_jobs=workers, return_as="generator_unordered")
    results: Iterable[tuple[str, Tables]] = pool(delayed(_apart)(t, measure) for t in trials)
    yield from results


def _apart(trial: Trial, measure: Callable[[Trial], Tables]) -> tuple[str, Tables]:
    prepare_process(1)  # the cores are shared between the workers
    return trial.run_id, measure(trial)

"""`bench`: train models on datasets, and skip runs that already have a record."""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

from heterophily.benchmark.plan import DATASETS, MODELS, plan
from heterophily.core.arguments import check_sequence
from heterophily.core.errors import HeterophilyError, HeterophilyWarning
from heterophily.core.graph import Graph
from heterophily.core.types import Settings
from heterophily.data.loading import as_graph
from heterophily.data.splits import N_FOLDS, cross_validation_splits
from heterophily.models import Model, find_method
from heterophily.models.settings import Tables, default_tables, read_settings
from heterophily.runs.arguments import check_run_arguments
from heterophily.runs.execute import OpenDisplay, no_display, run_jobs
from heterophily.runs.job import Limits
from heterophily.runs.record import Record


def bench(
    models: Model | Sequence[Model],
    datasets: str | Path | Graph | Sequence[str | Path | Graph] | Mapping[str, Graph],
    *,
    out: Path | str,
    splits: str = "all",
    seed: int = 0,
    settings: Settings | None = None,
    settings_files: Sequence[Path | str] = (),
    defaults: bool = False,
    workers: int | None = None,
    threads: int = 1,
    limits: Limits | None = None,
    retry: bool = False,
    engine: str = "local",
    address: str | None = None,
    display: OpenDisplay = no_display,
) -> list[Record]:
    """Train models on the splits of datasets, and return one record per run.

    A run whose record is in `out` is skipped, so the same call continues an interrupted one. A graph without labeled
    test nodes is divided into five cross-validation splits, stratified by class.

    Parameters
    ----------
    models
        Name of a method, path of a Python file, or method; or a sequence of these. ``"all"`` for the paper's 14.
    datasets
        Name of a dataset, path of a graph, or graph; or a sequence of these. ``"all"`` for the paper's 10. A mapping
        contains graphs by the name or path from which other processes can load them.
    out
        Folder for the records.
    splits
        ``"all"``, ``"0-9"``, or ``"0,3"``.
    seed
        Seed of split 0; split i uses this seed plus i. Cross-validation splits depend on it, too.
    settings
        Settings of all methods, which override any others.
    settings_files
        Files `<model>.toml` as written by `search`, or folders of such files, as written by `tune`.
    defaults
        Whether to ignore the bundled settings of datasets.
    workers, threads
        Number of runs at the same time, one per core by default, and of PyTorch threads per run.
    limits
        Limits of memory and time of a run.
    retry
        Whether to repeat failed runs.
    engine, address
        ``"local"`` for separate processes, ``"inline"`` for this process, or ``"dask"`` or ``"ray"`` with the address
        of a cluster.
    display
        Shows the progress; by default, nothing is shown.

    Returns
    -------
    One `Record` per run, including failed runs: `record.done`, `record.score("test")`, and `record.settings`.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> from heterophily import bench
    >>> fast = {"max_epochs": 3}
    >>> records = bench(["mlp", "gcn"], "digits", splits="0", out=mkdtemp(), settings=fast, engine="inline")
    >>> [(record.model, record.split, record.done) for record in records]
    [('mlp', '0', True), ('gcn', '0', True)]
    """
    n_workers = 1 if workers is None else workers
    check_run_arguments(out=out, splits=splits, seed=seed, workers=n_workers, threads=threads, settings=settings)
    chosen: list[Model] = _listed(models, MODELS)
    graphs, unnamed = _open(datasets)
    changed = {name: with_test_nodes(graph, seed=seed) for name, graph in graphs.items()}
    unnamed |= {name for name, graph in changed.items() if graph is not graphs[name]}
    jobs = plan(
        chosen,
        changed,
        splits=splits,
        seed=seed,
        settings=settings,
        user_tables=read_tables(chosen, list(changed.values()), settings_files, defaults=defaults),
        unnamed=unnamed,
    )
    return run_jobs(
        jobs,
        out,
        workers=1 if engine == "inline" else workers,
        threads=threads,
        limits=limits,
        retry=retry,
        engine=engine,
        address=address,
        display=display,
    )


def _listed(models: Model | Sequence[Model], all_models: Sequence[str]) -> list[Model]:
    """Return models as a list, in which `all` represents the models of the paper."""
    given = [*models] if isinstance(models, Sequence) and not isinstance(models, str) else [models]
    return [name for model in given for name in (all_models if model == "all" else [model])]


def _open(
    datasets: str | Path | Graph | Sequence[str | Path | Graph] | Mapping[str, Graph],
) -> tuple[dict[str, Graph], set[str]]:
    """Return the graphs by name or path, and the names of those that other processes cannot load."""
    if isinstance(datasets, Mapping):
        return dict(datasets), set()
    given = [datasets] if isinstance(datasets, str | Path | Graph) else datasets
    check_sequence("datasets", given)
    names = [name for each in given for name in (DATASETS if each == "all" else [each])]
    graphs = {each.name if isinstance(each, Graph) else str(each): as_graph(each) for each in names}
    if len(graphs) < len(names):
        raise HeterophilyError("two graphs have the same name; rename one of them")
    return graphs, {each.name for each in names if isinstance(each, Graph)}


def with_test_nodes(graph: Graph, *, seed: int = 0) -> Graph:
    """Return the graph, with cross-validation splits if no split of its own has labeled test nodes."""
    if any(bool(graph.labeled[split.test].any()) for split in graph.splits.values()):
        return graph
    reason = "no labeled test nodes" if graph.splits else "no splits"
    message = f"{graph.name} has {reason}; the benchmark uses {N_FOLDS} cross-validation splits of its labeled nodes"
    warnings.warn(message, HeterophilyWarning, stacklevel=3)
    return graph.replace(splits=cross_validation_splits(graph, seed=seed))


def read_tables(
    models: Sequence[Model], graphs: Sequence[Graph], files: Sequence[Path | str], *, defaults: bool = False
) -> dict[str, Tables]:
    """Return the tables of settings by the name of their method."""
    names, datasets = [find_method(model).name for model in models], [graph.name for graph in graphs]
    if defaults:
        if files:
            raise HeterophilyError("--defaults ignores all files with settings; omit it or --settings")
        return {name: default_tables(datasets) for name in names}
    tables = {}
    for path in [file for given in files for file in _settings_files(Path(given), names)]:
        name = names[0] if len(names) == 1 else path.stem
        if name not in names:
            raise HeterophilyError(
                f"the name of a settings file must be one of {', '.join(names)}, got {path}; rename "
                "it to <model>.toml, or run a single model"
            )
        tables[name] = read_settings(path, datasets=datasets)
    return tables


def _settings_files(path: Path, models: Sequence[str]) -> list[Path]:
    """Return a file, or the files of these models in a folder."""
    if not path.is_dir():
        return [path]
    files = [file for file in sorted(path.glob("*.toml")) if file.stem in models]
    if not files:
        raise HeterophilyError(f"{path} must contain a file <model>.toml for one of {', '.join(models)}")
    return files

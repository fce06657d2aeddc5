"""Beyond one machine: real clusters of Dask and of Ray with two worker processes."""

import sys

import dask
import pytest
from distributed import LocalCluster

from heterophily import HeterophilyError
from heterophily.runs.engines import open_engine
from heterophily.runs.execute import run_jobs
from heterophily.runs.record import read_records


@pytest.fixture
def cluster():
    """Two worker processes; a task is given up when its worker dies."""
    config = {"distributed.scheduler.allowed-failures": 0}
    with (
        dask.config.set(config),
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
    ):
        yield cluster.scheduler_address


@pytest.fixture
def nodes(monkeypatch):
    """A Ray cluster with two cores; a task is given up when its worker dies."""
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("RAY_TASK_MAX_RETRIES", "0")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2})
    yield cluster.address
    cluster.shutdown()


@pytest.mark.parametrize(("engine", "address"), [("dask", "cluster"), ("ray", "nodes")])
def test_a_cluster_gives_the_same_records(planned, method_file, request, outcomes, tmp_path, starts, engine, address):
    where = {"engine": engine, "address": request.getfixturevalue(address)}
    # Of the training process: the worker that watches it, which then is gone with its machine. It
    # sleeps until it notices: otherwise it could be done before.
    deadly = method_file("deadly", "os.kill(multiprocessing.parent_process().pid, signal.SIGKILL); time.sleep(600)")
    slow = method_file("slow", "time.sleep(1)")
    cells = planned("gcn", "cmgnn", slow, splits="0-1")
    there, here = tmp_path / "there", tmp_path / "here"
    records = run_jobs(cells, there, **where)
    assert [record.done for record in records] == [True] * 6
    assert [record.environment["threads"] for record in records] == [1] * 6
    processes = {line.split()[1] for line in (tmp_path / "log.txt").read_text().splitlines()}
    assert len(processes) == 2
    run_jobs(cells, here, workers=2)
    assert outcomes(here) == outcomes(there)
    (record,) = run_jobs(planned(deadly), there, **where)
    assert record.status == "killed"
    assert f"{engine.title()} gave up" in record.reason
    assert len(read_records(there)) == 7


def test_a_scheduler_that_is_not_there_is_told(planned, tmp_path):
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "0.5s"}),
        pytest.raises(HeterophilyError, match=r"no Dask scheduler at tcp://127\.0\.0\.1:9 .*; start one"),
    ):
        run_jobs(planned("gcn"), tmp_path, engine="dask", address="tcp://127.0.0.1:9")


def test_a_ray_cluster_that_is_not_there_is_told(planned, tmp_path):
    words = r"no Ray cluster at 127\.0\.0\.1:9 .*; start one"
    with pytest.raises(HeterophilyError, match=words):
        run_jobs(planned("gcn"), tmp_path, engine="ray", address="127.0.0.1:9")


@pytest.mark.parametrize(("engine", "package"), [("dask", "distributed"), ("ray", "ray")])
def test_an_engine_that_is_not_installed_is_told(monkeypatch, engine, package):
    monkeypatch.setitem(sys.modules, package, None)
    words = rf"--engine {engine} requires {package}, which is not installed; pip install 'heterophily\[{engine}\]'"
    with pytest.raises(HeterophilyError, match=words), open_engine(engine, "127.0.0.1:9", 1):
        pass

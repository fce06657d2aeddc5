"""Files come from HETEROPHILY_DATA, the cache, or a real server on this machine."""

import hashlib
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from heterophily.core.errors import HeterophilyError
from heterophily.core.files import cache_folder
from heterophily.data.catalog import File
from heterophily.data.store import RETRIES, VARIABLE, fetch, find, is_present

CONTENT = b"hello\n"
SHA256 = hashlib.sha256(CONTENT).hexdigest()
GIT_BLOB = "ce013625030ba8dba906f756967f9e9ca394464a"  # git hash-object


class Handler(BaseHTTPRequestHandler):
    """Answers with the contents in `answers`, one after the other; None is a failure."""

    def do_GET(self):
        self.server.requests.append(self.path)
        content, claimed = self.server.answers.pop(0)
        self.send_response(503 if content is None else 200)
        self.send_header("Content-Length", str(claimed))
        self.end_headers()
        self.wfile.write(content or b"")

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr("pooch.core.time.sleep", lambda _: None)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.answers, server.requests = [], []
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(params=["sha256", "git_blob"])
def row(request, server, tiny, monkeypatch):
    """The row of a file on the server, identified by one of the two digests."""
    monkeypatch.delenv(VARIABLE)
    url = f"http://127.0.0.1:{server.server_port}/a.txt"
    digest = {"sha256": SHA256, "git_blob": GIT_BLOB}[request.param]
    return replace(tiny, files=(File("a.txt", url, **{request.param: digest}),))


@pytest.fixture
def user_folder(tmp_path, monkeypatch):
    (tmp_path / "mine" / "tiny").mkdir(parents=True)
    monkeypatch.setenv(VARIABLE, str(tmp_path / "mine"))
    return tmp_path / "mine" / "tiny"


def answer(server, *contents):
    server.answers += [(content, len(content or b"")) for content in contents]


def left_in_cache():
    folder = cache_folder() / "tiny"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_the_cache_of_the_tests_is_not_the_users(tmp_path):
    assert cache_folder().is_relative_to(tmp_path)


def test_a_file_is_downloaded_once_and_then_found_in_the_cache(server, row):
    answer(server, CONTENT)
    assert not is_present(row)
    first = fetch(row)
    assert first == {"a.txt": cache_folder() / "tiny" / "a.txt"}
    assert first["a.txt"].read_bytes() == CONTENT
    assert is_present(row)
    assert fetch(row) == first
    assert server.requests == ["/a.txt"]
    assert left_in_cache() == ["a.txt"]


def test_the_users_folder_comes_before_the_cache(server, row, user_folder):
    answer(server, CONTENT)
    assert fetch(row)["a.txt"].is_relative_to(cache_folder())
    (user_folder / "a.txt").write_bytes(CONTENT)
    assert fetch(row) == {"a.txt": user_folder / "a.txt"}
    assert len(server.requests) == 1


def test_a_wrong_download_is_refused_and_leaves_nothing(server, row):
    answer(server, *[b"hallo\n"] * (1 + RETRIES))
    with pytest.raises(HeterophilyError, match="its checksum differs"):
        fetch(row)
    assert left_in_cache() == []
    assert find(row, "a.txt") is None


def test_a_download_that_breaks_off_leaves_nothing(server, row):
    server.answers += [(CONTENT[:3], len(CONTENT))] * (1 + RETRIES)
    with pytest.raises(HeterophilyError, match="cannot download"):
        fetch(row)
    assert left_in_cache() == []


def test_a_server_that_fails_once_is_asked_again(server, row):
    answer(server, None, CONTENT)
    assert fetch(row)["a.txt"].read_bytes() == CONTENT
    assert len(server.requests) == 2


def test_a_server_that_keeps_failing_is_left_alone(server, row):
    answer(server, *[None] * (1 + RETRIES))
    with pytest.raises(HeterophilyError, match="HTTPError"):
        fetch(row)
    assert len(server.requests) == 1 + RETRIES


def test_without_a_network_one_sentence_says_what_to_fetch_and_where_to_put_it(server, row):
    server.server_close()
    with pytest.raises(HeterophilyError) as caught:
        fetch(row)
    sentence = str(caught.value)
    assert row.files[0].url in sentence
    assert str(cache_folder() / "tiny" / "a.txt") in sentence
    assert "HETEROPHILY_DATA to a folder that contains tiny/a.txt" in sentence
    assert "\n" not in sentence


def test_a_changed_file_in_the_users_folder_is_refused_and_kept(server, row, user_folder):
    (user_folder / "a.txt").write_bytes(b"hallo\n")
    with pytest.raises(HeterophilyError, match="is not the published") as caught:
        fetch(row)
    assert str(user_folder / "a.txt") in str(caught.value)
    assert row.files[0].url in str(caught.value)
    assert (user_folder / "a.txt").read_bytes() == b"hallo\n"
    assert server.requests == []


def test_a_changed_file_in_the_cache_is_refused(server, row):
    answer(server, CONTENT)
    fetch(row)["a.txt"].write_bytes(b"hallo\n")
    with pytest.raises(HeterophilyError, match="is not the published"):
        fetch(row)


@pytest.mark.parametrize("kind", ["missing", "file"])
def test_the_users_folder_must_be_a_folder(tiny, tmp_path, monkeypatch, kind):
    (tmp_path / "file").touch()
    monkeypatch.setenv(VARIABLE, str(tmp_path / kind))
    with pytest.raises(HeterophilyError, match="HETEROPHILY_DATA must be a folder, got"):
        fetch(tiny)


def test_an_empty_variable_names_no_folder(tiny, monkeypatch):
    monkeypatch.setenv(VARIABLE, "")
    assert find(tiny, "tiny.npz") is None

"""The files around the package: workflows, templates, citation, changelog, and release."""

import importlib.util
import re
import tomllib
from datetime import date
from pathlib import Path
from zipfile import ZipFile

import pytest
import yaml

import heterophily

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml"))
PYTHONS = ["3.11", "3.12", "3.13"]


def read(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def steps_of(workflow):
    return [(name, step) for name, job in workflow["jobs"].items() for step in job["steps"]]


def load_tool(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_has_the_form_that_github_reads(path):
    workflow = read(path)
    assert {"name", True, "jobs", "permissions"} <= set(workflow)  # YAML reads the key `on` as true
    for name, job in workflow["jobs"].items():
        assert set(job) <= {"runs-on", "timeout-minutes", "strategy", "steps"}, name
        assert re.fullmatch(r"ubuntu-\w+", job["runs-on"])
        assert 0 < job["timeout-minutes"] <= 90
    for name, step in steps_of(workflow):
        assert ("uses" in step) != ("run" in step), name
        if "uses" in step:
            assert re.fullmatch(r"actions/[\w-]+@v\d+", step["uses"])
        for value in (step.get("with") or {}).values():
            assert isinstance(value, str), f"quote {value}: 3.10 without quotes is a number"
        for variable in re.findall(r"\$\{\{ *([\w.-]+) *\}\}", str(step)):
            assert variable in {"matrix.python-version", "github.token"}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_the_targets_of_workflows_exist(path):
    targets = {word for _, step in steps_of(read(path)) for word in re.findall(r"\bmake (\w+)", step.get("run", ""))}
    assert targets
    assert [t for t in targets if not re.search(rf"^{t}:", MAKEFILE, re.MULTILINE)] == []


def test_continuous_integration_covers_everything():
    workflow = read(ROOT / ".github" / "workflows" / "ci.yml")
    assert set(workflow["jobs"]) == {"lint", "types", "tests", "docs", "lowest", "wheel"}
    assert workflow["jobs"]["tests"]["strategy"]["matrix"]["python-version"] == PYTHONS
    named = [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if "Python :: 3." in line]
    assert named == PYTHONS
    assert PROJECT["requires-python"] == f">={PYTHONS[0]}"


def test_the_hooks_use_tools_of_the_environment():
    hooks = [hook for repository in read(ROOT / ".pre-commit-config.yaml")["repos"] for hook in repository["hooks"]]
    assert {"ruff-check", "ruff-format", "mypy", "rules"} == {hook["id"] for hook in hooks}
    for hook in hooks:
        assert {"id", "name", "entry", "language"} <= set(hook)
        assert hook["entry"].startswith(".venv/bin/")
        assert [word for word in hook["entry"].split() if word.endswith(".py") and not (ROOT / word).exists()] == []


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_for_issues_has_the_required_keys(path):
    form = read(path)
    assert {"name", "description", "body"} <= set(form)
    identifiers = [field["id"] for field in form["body"]]
    assert len(set(identifiers)) == len(identifiers)
    for field in form["body"]:
        assert field["type"] in {"textarea", "input", "dropdown", "checkboxes"}
        assert field["attributes"]["label"]


def test_the_citation_has_the_fields_of_its_format():
    citation = read(ROOT / "CITATION.cff")
    assert {"cff-version", "message", "title", "authors"} <= set(citation)  # required
    assert citation["cff-version"] == "1.2.0"
    assert citation["type"] == "software"
    assert citation["version"] == heterophily.__version__
    assert citation["license"] == PROJECT["license"]
    assert citation["repository-code"] == PROJECT["urls"]["Repository"]
    for work in (citation, *citation["references"]):
        for author in work["authors"]:
            assert set(author) in ({"name"}, {"family-names", "given-names"})
    for reference in citation["references"]:
        assert {"type", "title", "authors"} <= set(reference)


def test_the_urls_belong_to_one_repository():
    assert {"Homepage", "Documentation", "Repository", "Issues", "Changelog"} == set(PROJECT["urls"])
    assert all(url.startswith(PROJECT["urls"]["Repository"]) for url in PROJECT["urls"].values())


def test_the_changelog_has_the_version_and_its_sections():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    heads = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert heads[0] == "Unreleased"
    version, day = heads[1].split(" - ")
    assert version == heterophily.__version__
    date.fromisoformat(day)
    for section in re.split(r"^## .*\n", text, flags=re.MULTILINE)[1:]:
        kinds = re.findall(r"^### (.*)$", section, re.MULTILINE)
        order = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]
        assert kinds == [kind for kind in order if kind in kinds]
    notes = load_tool("release").release_notes(version)
    assert notes.startswith("### Added")
    assert "\n## " not in notes


def test_a_release_without_all_files_is_rejected(tmp_path):
    tool = load_tool("release")
    wheel = tmp_path / f"heterophily-{heterophily.__version__}-py3-none-any.whl"
    files = sorted((ROOT / "src").rglob("*.*"))
    with ZipFile(wheel, "w") as archive:
        for path in files:
            if path.name != "catalog.toml":
                archive.writestr(str(path.relative_to(ROOT / "src")), "")
    found = tool.problems(tmp_path)
    assert f"{wheel} does not contain heterophily/data/catalog.toml" in found
    assert any(line.endswith(".tar.gz does not exist") for line in found)
    assert len(found) == 2


def test_the_lowest_versions_are_those_of_the_package():
    lines = load_tool("lowest").lowest_versions()
    assert all(re.fullmatch(r"[\w.-]+==[\d.]+", line) for line in lines)
    torch = next(line for line in PROJECT["dependencies"] if line.startswith("torch>="))
    assert torch.replace(">=", "==") in lines

"""Every document is true: its links lead somewhere, its commands have options that exist, its sessions run."""

import os
import re
import shutil
import subprocess

import document
import pytest


def ids(path):
    return str(path.relative_to(document_root()))


def document_root():
    import conftest
    return conftest.SOURCE


DOCUMENTS = document.documents(document_root())
all_documents = pytest.mark.parametrize("path", DOCUMENTS, ids=ids)


def test_the_documents_are_found():
    names = {ids(path) for path in DOCUMENTS}
    assert {"README.md", "CONTRIBUTING.md", "rules/first-rule.md", "examples/recipes/README.md"} <= names


def test_the_readme_is_a_front_page():
    assert len((document_root() / "README.md").read_text().splitlines()) <= 200


def test_the_glossary_is_sorted_and_found():
    root = document_root()
    terms = re.findall(r"^- \*\*(.*?)\*\*", (root / "GLOSSARY.md").read_text(), re.MULTILINE)
    words = [re.sub(r"[^a-z ]", "", term.lower()) for term in terms]
    assert len(words) > 60 and words == sorted(words)
    for guide in ("README.md", "cli/using.md", "examples/recipes/first-steps.md", "rules/README.md", "search/README.md",
                  "verifier/README.md", "generator/README.md", "cost/README.md"):
        assert any(link.endswith("GLOSSARY.md") for link in document.links((root / guide).read_text())), guide


@all_documents
def test_every_link_leads_somewhere(path):
    for target in document.links(path.read_text()):
        name, _, anchor = target.partition("#")
        file = path.parent / name if name else path
        assert file.exists(), f"{target}: there is no such file"
        if anchor and file.suffix == ".md":
            assert anchor in document.anchors(file.read_text()), f"{target}: there is no such heading"


@pytest.fixture(scope="module")
def help_texts(programs):
    """What each program that was built prints with --help."""
    return {name: subprocess.run([programs / name, "--help"], capture_output=True, text=True, check=True).stdout
            for name in document.PROGRAMS if (programs / name).is_file()}


@pytest.fixture(scope="module")
def options(help_texts):
    """The options of each program, and those of others that its help mentions."""
    return {name: option_names(text) for name, text in help_texts.items()}


def option_names(text):
    return set(re.findall(r"(?<![\w-])-{1,2}[a-zA-Z][\w-]*", text))


@all_documents
def test_every_option_shown_exists(path, options):
    if path.name == "CHANGELOG.md":  # tells of the past
        return
    for program, *words in document.commands(path.read_text()):
        for word in words:
            name = word.split("=")[0]
            if program in options and re.fullmatch(r"--[a-z][a-z-]*|-[a-z]", name):
                assert name in options[program], f"{program} has no option {name}"


def test_every_option_is_explained_in_a_guide(help_texts):
    """An option counts as explained in a section that names its program, or in that about all programs. Changes and
    figures are no guides."""
    guides = [path for path in DOCUMENTS if not re.search(r"CHANGELOG|/results/|^tests/", ids(path))]
    sections = [section for path in guides for section in document.sections(path.read_text())]
    assert help_texts
    for program, text in help_texts.items():
        own = {name for line in re.findall(r"^  (-\S*)", text, re.MULTILINE) for name in line.split(",")}
        told = set().union(*(option_names(section) for section in sections
                             if program in section or section.startswith("## Options of all programs\n")))
        missing = sorted(name for name in own - told if name.startswith("--"))
        assert not missing, f"{program}: no guide explains {missing}"


@all_documents
def test_every_script_named_exists(path):
    for name in set(re.findall(r"(?<![\w/.])scripts/[a-z][a-z-]*", path.read_text())):
        assert os.access(document_root() / name, os.X_OK), f"{name} does not exist"


def words(line):
    """The line without numbers and alignment, which change from run to run."""
    return re.sub(r"[\d.,]+", "#", re.sub(r"\s+", " ", line.strip()))


def matches(shown, printed):
    """Whether the lines are those shown; a line with nothing but … stands for any number of them."""
    if not shown:
        return not printed
    if shown[0] == "…":
        return any(matches(shown[1:], printed[i:]) for i in range(len(printed) + 1))
    return bool(printed) and shown[0] == printed[0] and matches(shown[1:], printed[1:])


WITH_SESSIONS = [path for path in DOCUMENTS if "<!-- runs -->" in path.read_text()]


@pytest.mark.parametrize("path", WITH_SESSIONS, ids=ids)
def test_the_sessions_shown_run(path, programs, taso_verify, tmp_path):
    """`<!-- runs -->` is above a block of commands and what they print; `<!-- file NAME -->` above a file that they
    read, and `<!-- file NAME = PATH -->` names a file of the project."""
    root = document_root()
    (tmp_path / "examples").symlink_to(root / "examples")
    text = path.read_text()
    for name, source in re.findall(r"^<!-- file (\S+) = (\S+) -->$", text, re.MULTILINE):
        shutil.copy(root / source, tmp_path / name)
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    ran = 0
    for comment, block in document.blocks(text):
        if comment.startswith("file ") and "=" not in comment:
            (tmp_path / comment.split()[1]).write_text(block)
        if comment != "runs":
            continue
        for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
            done = subprocess.run(command, shell=True, cwd=tmp_path, env=environment, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True)
            assert done.returncode in (0, 5), f"{command}\n{done.stdout}"
            printed, expected = ([words(line) for line in lines.splitlines() if line.strip()]
                                 for lines in (done.stdout, shown))
            assert matches(expected, printed), f"{command} prints\n{done.stdout}"
            ran += 1
    assert ran

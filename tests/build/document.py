"""Reads the project's documents: their links, headings, code blocks and commands."""

import pathlib
import re
import shlex

PROGRAMS = ("taso-opt", "taso-verify", "taso-gen", "taso-bench", "taso-networks")


def documents(source_folder):
    """Every Markdown file of the project, without build folders."""
    return sorted(path for path in source_folder.rglob("*.md")
                  if not any(part.startswith(("build", ".")) or part in ("shared", "node_modules")
                             for part in path.relative_to(source_folder).parts))


def without_blocks(text):
    text = re.sub(r"^ *```.*?^ *```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"^    .*$", "", text, flags=re.MULTILINE)  # a block by its indentation


def links(text):
    """Targets of links and pictures that are files of the project."""
    prose = re.sub(r"`[^`\n]*`", "", without_blocks(text))
    targets = re.findall(r"\]\(([^)\s]+)\)", prose) + re.findall(r"^\[[^]]+\]: (\S+)$", prose, re.MULTILINE)
    return [target for target in targets if not re.match(r"[a-z]+:", target)]


def anchors(text):
    """The anchors of a document's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ +(.*)$", without_blocks(text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower()).replace(" ", "-")
            for heading in headings}


def sections(text):
    """The document's parts, each with its heading."""
    return re.split(r"^(?=#+ )", text, flags=re.MULTILINE)


def blocks(text):
    """The code blocks, each with the comment right above it."""
    block = r"^(?:<!-- ([^\n]*?) -->\n)?( *)```([a-z]*)\n(.*?)^ *```$"
    for found in re.finditer(block, text, re.MULTILINE | re.DOTALL):
        yield found[1] or "", found[4]


def commands(text):
    """The calls of our programs that a document shows, as lists of words: in blocks and within sentences."""
    shown = []
    for _, block in blocks(text):
        shown += re.sub(r"\\\n", " ", block).splitlines()
    shown += [re.sub(r"\s+", " ", code) for code in re.findall(r"`([^`]+)`", without_blocks(text))]
    for line in shown:
        line = re.sub(r"^\s*(\$ |- run: )?", "", line)
        for part in re.split(r"&&|\||;", line):
            try:
                words = shlex.split(part, comments=True)
            except ValueError:
                continue
            while words and re.match(r"[A-Z_]+=", words[0]):
                words.pop(0)
            if words and pathlib.PurePath(words[0]).name in PROGRAMS:
                yield [pathlib.PurePath(words[0]).name, *words[1:]]

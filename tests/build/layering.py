"""Reads the includes of every source and lists those that break the layering.

python3 tests/build/layering.py [FOLDER]

ops < {rules, cost} < runtime/host < onnx < {verifier, search} < cli < {runtime/api, examples}: a file includes only its
own folder and those below it. The generator sees ops, rules and cost, and so does the search; only runtime/session, cli
and runtime/api see runtime/gpu. Heavy libraries stay in their folders, and a file that uses fixed-width integers
reaches <cstdint> through its own includes (the headers of g++ 13 and later no longer include it).
"""

import pathlib
import re
import sys

BELOW = {
    "ops": set(),
    "rules": {"ops"},
    "cost": {"ops"},
    "runtime/host": {"ops"},
    "runtime/gpu": {"ops", "cost", "runtime/host"},
    "runtime/pricing": {"ops", "cost", "runtime/gpu"},
    "onnx": {"ops", "runtime/host"},
    "runtime/session": {"ops", "cost", "runtime/host", "runtime/gpu", "runtime/pricing", "onnx"},
    "generator": {"ops", "rules", "cost"},
    "verifier": {"ops", "rules", "runtime/host", "onnx"},
    "search": {"ops", "rules", "cost"},
    "cli": {"ops", "rules", "cost", "runtime/host", "runtime/gpu", "runtime/pricing", "runtime/session", "onnx",
            "generator", "verifier", "search"},
    "runtime/onnxruntime": set(),  # and the C interface of runtime/api, as other programs see it
    "runtime/api": {"ops", "cost", "runtime/gpu", "runtime/session", "onnx", "cli"},
    "examples": {"ops", "onnx", "cli"},
    "python": set(),  # only <taso/taso.h>, as any other program
}
# Headers that match may be included only below these folders.
WALLS = [
    (re.compile(r"onnx/onnx|onnx/proto"), ["onnx/"]),
    (re.compile(r"google/protobuf/|(?!onnx/).*\.pb\.h$"), ["onnx/", "rules/taso/"]),
    (re.compile(r"z3(\+\+|_[a-z]+)?\.h$"), ["verifier/"]),
    (re.compile(r"cuda(_[a-z0-9_]+)?\.h$|cudnn.*\.h$|cublas.*\.h$|nvml\.h$"), ["runtime/gpu/cuda/"]),
    (re.compile(r"onnxruntime_.*\.h$"), ["runtime/onnxruntime/"]),
    (re.compile(r"mpi\.h$"), ["ops/cluster/mpi/"]),
    (re.compile(r"CLI/|spdlog/"), ["cli/", "examples/"]),
]
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
FIXED_WIDTH = re.compile(r"\bu?int(8|16|32|64)_t\b")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
SUFFIXES = {".h", ".cpp", ".cu", ".cuh", ".inc"}


def layer_of(path):
    """The first folder of a path, or the first two if they are a layer of their own."""
    parts = path.split("/")
    two = "/".join(parts[:2])
    return two if two in BELOW else parts[0]


def sources(root):
    for folder in BELOW:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SUFFIXES:
                yield path.relative_to(root).as_posix(), folder, path


def violations(root):
    root = pathlib.Path(root)
    texts = {name: path.read_text() for name, _, path in sources(root)}
    includes = {name: INCLUDE.findall(text) for name, text in texts.items()}

    def reaches_cstdint(name, seen):
        seen.add(name)
        return any(
            header in ("cstdint", "stdint.h", "cinttypes") if quote == "<" else
            header in includes and header not in seen and reaches_cstdint(header, seen)
            for quote, header in includes[name]
        )

    found = []
    for name, folder, _ in sources(root):
        for quote, header in includes[name]:
            for pattern, homes in WALLS:
                # A folder of taso may have the name of a library (onnx/…): WALLS concern only foreign headers.
                if header not in texts and pattern.match(header) and not any(name.startswith(home) for home in homes):
                    found.append(f"{name}: <{header}> belongs to {' and '.join(homes)}")
            if quote != '"':
                continue
            top = layer_of(header)
            if top not in BELOW:
                found.append(f'{name}: "{header}" is not relative to the root')
            elif top != folder and top not in BELOW[folder]:
                found.append(f'{name}: {folder} may not include "{header}"')
        if FIXED_WIDTH.search(COMMENT.sub("", texts[name])) and not reaches_cstdint(name, set()):
            found.append(f"{name}: uses fixed-width integers without <cstdint>")
    return found


if __name__ == "__main__":
    lines = violations(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2])
    print("\n".join(lines) or "every include keeps to the layers")
    sys.exit(1 if lines else 0)

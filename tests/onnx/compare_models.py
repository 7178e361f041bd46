"""compare_models.py TASO_OPT FOLDER: prints a line for each model of the folder, and how many are equal."""

import pathlib
import sys
import tempfile

import runtime_comparison


def main(taso_opt, folder):
    counts = {"equal": 0, "not run": 0, "failed": 0}
    with tempfile.TemporaryDirectory() as scratch:
        for model in sorted(pathlib.Path(folder).rglob("*.onnx")):
            output = pathlib.Path(scratch) / "out.onnx"
            outcome = runtime_comparison.compare(taso_opt, model, output)
            size = f"{model.stat().st_size} -> {output.stat().st_size} bytes" if output.exists() else ""
            print(f"{outcome.kind:8} {model.relative_to(folder)} {size} {outcome.reason}", flush=True)
            counts[outcome.kind] += 1
            for file in pathlib.Path(scratch).iterdir():
                file.unlink()
    print(", ".join(f"{count} {kind}" for kind, count in counts.items()))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])))

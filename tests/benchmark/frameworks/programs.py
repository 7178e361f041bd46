"""The programs of taso, if given: taso-networks, taso-opt and taso-bench."""

import json
import pathlib
import shlex

from processes import Failure, run


def last_line(log):
    lines = [line for line in pathlib.Path(log).read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1][:200] if lines else ""


class Programs:
    def __init__(self, settings, folder):
        self.settings = settings
        self.folder = folder

    def model(self, name):
        """The file of a model; taso-networks makes it if there is no file of this name."""
        if pathlib.Path(name).is_file():
            return pathlib.Path(name).resolve()
        if not self.settings.taso_networks:
            raise Failure("there is no such file")
        batch = self.settings.batch or 1
        file = self.folder / (f"{name}.onnx" if batch == 1 else f"{name}.batch{batch}.onnx")
        if not file.exists():
            aside = file.with_suffix(".part.onnx")
            status = run([self.settings.taso_networks, name, "--batch", batch, "-o", aside],
                         self.settings.taso_limit, self.folder / f"{name}.taso-networks.log")
            if status != 0:
                raise Failure(f"taso-networks ended with {status}")
            aside.rename(file)
        return file

    def optimises(self):
        return bool(self.settings.taso_bench and (self.settings.taso_opt or self.settings.optimised))

    def arguments(self, precision):
        arguments = shlex.split(self.settings.opt_arguments)
        return arguments + (["--precision", precision] if "--precision" not in arguments and "--device" in arguments
                            else [])

    def given(self, model, precision):
        """An existing optimised model; one named `.opt` comes before one that may be the model itself."""
        folder, name = self.settings.optimised, model.stem
        kind = f"{precision}-{self.settings.batch or 1}"  # as scripts/show-gpu stores them
        names = (f"{kind}/{name}.opt.onnx", f"{precision}/{name}.opt.onnx", f"{name}.{precision}.opt.onnx",
                 f"{name}.opt.onnx",
                 f"{name}.{precision}.onnx", f"{name}.onnx")
        found = (folder / one for one in names) if folder else ()
        return next((file for file in found if file.is_file() and not file.samefile(model)), None)

    def needs_gpu(self, model, precision):
        """Whether optimising measures kernels."""
        return self.given(model, precision) is None and self.settings.on_gpu and "cuda" in self.arguments(precision)

    def optimise(self, model, precision, limit):
        """The optimised model. Its prices depend on the precision, so it does too."""
        settings = self.settings
        if found := self.given(model, precision):
            return found.resolve()
        if not settings.taso_opt:
            raise Failure(f"no optimised model in {settings.optimised}")
        file = self.folder / f"{model.stem}.{precision}.optimised.onnx"
        log = self.folder / f"{model.stem}.{precision}.taso-opt.log"
        file.unlink(missing_ok=True)
        status = run([settings.taso_opt, model, "-o", file, *self.arguments(precision)], limit, log)
        if status != 0 or not file.exists():
            raise Failure(f"taso-opt ended with {status}: {last_line(log)}")
        return file

    def bench(self, models, precision, log):
        """taso-bench's figures of the models, which it times in turn."""
        settings = self.settings
        output = self.folder / f"{models[0].stem}.{precision}.taso-bench.json"
        output.unlink(missing_ok=True)
        command = [settings.taso_bench, *models, "--json", output, "--precision", precision,
                   "--runs", settings.runs, "--seed", settings.seed]
        command += ["--batch", settings.batch] if settings.batch else []
        command += ["--device", "cpu"] if settings.device == "cpu" else []
        status = run(command + shlex.split(settings.bench_arguments), settings.taso_limit, log)
        if not output.exists():
            raise Failure(f"taso-bench ended with {status}: {last_line(log)}")
        try:
            return json.loads(output.read_text())
        except ValueError as error:
            raise Failure(f"taso-bench ended with {status}: its JSON: {error}") from None

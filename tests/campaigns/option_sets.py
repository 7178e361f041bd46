"""Sets of options for taso-opt, drawn so that every pair of options occurs often, with every pair of their values."""

import random
import re
import subprocess

import numpy

# Every option that changes what is done or written, and the values to try; None leaves the option out.
VALUES = {
    "--budget": [None, "0", "1", "10", "40", "150"],
    "--alpha": [None, "1", "1.2", "2"],
    "--objective": [None, "time", "memory", "launches"],
    "--precision": [None, "fp32", "fp16", "bf16"],
    "--lanes": [None, "1", "3"],
    "--jobs": ["1", "2"],
    "--all-rules": [None, True],
    "--explain": [None, True],
    "--rules": [None, "first half", "second half"],
    "--extra-rules": [None, "own"],
    "--disable-rule": [None, "one", "many"],
    "--time-budget": [None, "100"],
    "--device": [None, "auto"],
    "--min-gain": [None, "0", "5"],
    "--max-growth": [None, "0", "1000"],
    "--float": [None, "strict", "usual", "fast"],
    "--check": [None, "0", "3"],
    "--rtol": [None, "0.1"],
    "--atol": [None, "0.1"],
    "--seed": [None, "17"],
    "--input-data": [None, "given"],
    "--test-input-shape": [None, "given"],
    "--overwrite-input-shape": [None, "given"],
    "--disable-pass": [None, "one", "all"],
    "--fold-limit": [None, "0", "100000"],
    "--external-data": [None, True],
    "--embed": [None, True],
    "--no-certificate": [None, True],
    "--report": [None, "given"],
}
OF_A_SEARCH = {"--alpha", "--objective", "--all-rules", "--explain", "--rules", "--extra-rules", "--disable-rule",
               "--time-budget", "--min-gain", "--max-growth", "--float"}
OWN_RULES = """taso rules 1

rule own-product-of-sum
  add(matmul(x, y), matmul(x, z)) => matmul(x, add(y, z))

rule own-relu-of-concat
  concat[axis=a](relu(x), relu(y)) => relu(concat[axis=a](x, y))
"""


def contradict(first, second):
    """Whether two settings are refused together, or are useless together."""
    for (option, value), (other, _) in ((first, second), (second, first)):
        if option == "--budget" and value == "0" and other in OF_A_SEARCH:
            return True
        if (option, other) in (("--external-data", "--embed"), ("--overwrite-input-shape", "--test-input-shape"),
                               ("--overwrite-input-shape", "--input-data"), ("--test-input-shape", "--input-data")):
            return True
    return False


class OptionSets:
    """The options that a program offers, and how often each pair was drawn."""

    def __init__(self, taso_opt, folder):
        def printed(flag):
            return subprocess.run([taso_opt, flag], capture_output=True, text=True, check=True).stdout

        help_text = printed("--help")
        self.values = {option: values for option, values in VALUES.items() if re.search(rf"{option}\b", help_text)}
        if re.search(r"^Z3 +not built in", printed("--version"), re.MULTILINE):
            for option in ("--rules", "--extra-rules"):  # there is no prover
                self.values.pop(option, None)
        self.passes = [line.split()[0] for line in printed("--list-passes").splitlines() if line.strip()]
        head, *rules = re.split(r"(?m)^(?=rule )", printed("--list-rules"))
        self.names = [rule.split()[1] for rule in rules]
        self.files = {"first half": rules[0::2], "second half": rules[1::2]}
        for part, chosen in self.files.items():
            path = folder / f"{part.replace(' ', '-')}.rules"
            path.write_text(head + "".join(chosen[::max(1, len(chosen) // 16)]))  # few, because they are proved first
            self.files[part] = path
        self.files["own"] = folder / "own.rules"
        self.files["own"].write_text(OWN_RULES)
        self.settings = [(option, value) for option, values in self.values.items() for value in values if value]
        self.place = {setting: i for i, setting in enumerate(self.settings)}
        size = len(self.settings)
        self.counts = numpy.zeros((size, size), int)  # above the diagonal
        self.possible = numpy.array([[i < j and first[0] != second[0] and not contradict(first, second)
                                      for j, second in enumerate(self.settings)]
                                     for i, first in enumerate(self.settings)])

    def among(self, chosen):
        """The positions of all pairs of a set."""
        places = [self.place[setting] for setting in chosen]
        return numpy.ix_(places, places)

    def rareness(self, chosen):
        pairs = self.among(chosen)
        return float((self.possible[pairs] / (1.0 + self.counts[pairs]) ** 2).sum())

    def fits(self, setting, traits):
        option, value = setting
        if option in ("--overwrite-input-shape", "--test-input-shape"):
            return bool(traits.open)
        return True

    def draw_once(self, draw, traits):
        chosen = []
        for option in draw.sample(list(self.values), len(self.values)):
            value = draw.choice(self.values[option])
            setting = (option, value)
            if value is None or not self.fits(setting, traits) or draw.random() < 0.35 and option != "--jobs":
                continue
            if not any(contradict(setting, other) for other in chosen):
                chosen.append(setting)
        if not any(option == "--budget" for option, _ in chosen) and draw.random() < 0.8:  # the default takes long
            chosen.append(("--budget", "40"))
        return frozenset(chosen)

    def draw(self, seed, traits):
        """Of several random sets, the one with the rarest pairs; now and then an almost empty set."""
        draw = random.Random(f"options {seed}")
        if draw.random() < 0.03:
            return frozenset({("--jobs", "2")})
        candidates = [self.draw_once(draw, traits) for _ in range(6)]
        best = max(candidates, key=lambda chosen: (round(self.rareness(chosen), 9), sorted(map(str, chosen))))
        self.count(best)
        return best

    def count(self, chosen, times=1):
        self.counts[self.among(chosen)] += times

    def number_of_pairs(self):
        return int(self.possible.sum())

    def least(self):
        """The rarest pair, and its count."""
        counts = numpy.where(self.possible, self.counts, numpy.iinfo(int).max)
        first, second = numpy.unravel_index(counts.argmin(), counts.shape)
        return (self.settings[first], self.settings[second]), int(counts[first, second])

    def arguments(self, chosen, seed, names_of_inputs=(), shapes=None, data=(), report=None):
        """The command line. `shapes`: those of the inputs by name, with numbers for open dimensions."""
        draw = random.Random(f"values {seed}")
        settings = dict(sorted(chosen, key=str))
        result = []
        for option, value in settings.items():
            if value is True:
                result.append(option)
            elif option in ("--rules", "--extra-rules"):
                result += [option, str(self.files[value])]
            elif option == "--disable-rule":
                names = self.names
                if "--rules" in settings:
                    names = re.findall(r"(?m)^rule (\S+)", self.files[settings["--rules"]].read_text())
                for name in draw.sample(names, 1 if value == "one" else min(20, len(names) // 2)):
                    result += [option, name]
            elif option == "--disable-pass":
                for name in draw.sample(self.passes, 1 if value == "one" else len(self.passes)):
                    result += [option, name]
            elif option == "--input-data":
                for name, file in data:
                    result += [option, f"{name}:{file}"]
            elif option in ("--test-input-shape", "--overwrite-input-shape"):
                for name in names_of_inputs:
                    result += [option, f"{name}:{','.join(map(str, shapes[name]))}"]
            elif option == "--report":
                result += [option, str(report)]
            else:
                result += [option, value]
        return result

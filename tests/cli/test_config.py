"""--config and --dump-config, which all programs have."""

import re

import pytest

import opt_models as models
from opt_models import run, save

PROGRAMS = ("taso_opt", "taso_verify", "taso_gen", "taso_bench", "taso_networks")


def options_of(program):
    """The options that a configuration file may hold, with values of theirs: none for flags."""
    found = {}
    for names, value, text in re.findall(r"^  (-\S*)(?: (\S+))?(?=\s)((?:(?!\n  -|\n\n)[\s\S])*)",
                                         run(program, "--help").out, re.MULTILINE):
        if "and exit" not in " ".join(text.split()) and "--config" not in names:
            name = names.split(",")[-1] if names.startswith("-") and not names.startswith("--") else names.split(",")[0]
            found[name] = value.removesuffix(",...").split("|")[-1] if value else None
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_all_options_survive(name, request, tmp_path):
    """Each alone, and all together."""
    program = request.getfixturevalue(name)
    options = options_of(program)
    assert {"--verbose", "--color", "--log-file"} <= options.keys() and len(options) > 10
    file = tmp_path / "my.config"
    calls = [[option] if value is None else [option, value] for option, value in options.items()]
    for call in [*calls, sum(calls, [])]:
        first = run(program, *call, "--dump-config")
        assert first.code == 0 and first.err == "", first
        lines = [line for line in first.out.splitlines() if line and not line.startswith("#")]
        assert [line.split(" = ")[0] for line in lines] == [word[2:] for word in call if word.startswith("--")] or \
            len(call) > 2 and len(lines) == len(options), lines
        file.write_text(first.out)
        assert run(program, "--config", file, "--dump-config").out == first.out


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_not_given_is_a_comment_with_its_default(name, request, tmp_path):
    program = request.getfixturevalue(name)
    text = run(program, "--dump-config").out
    assert not [line for line in text.splitlines() if line and not line.startswith("#")]
    assert {line[2:].split(" =")[0] for line in text.splitlines() if re.match(r"# [a-z-]+ =", line)} == \
        {option[2:] for option in options_of(program)}
    assert "\n# color = auto\n" in text
    file = tmp_path / "my.config"
    file.write_text(re.sub(r"^# ([a-z-]+ = \S+)$", r"\1", text, flags=re.MULTILINE))
    done = run(program, "--config", file, "--dump-config")
    assert done.code == 0 and "\ncolor = \"auto\"\n" in done.out, done



@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_dumped_can_be_read(name, request, tmp_path):
    program = request.getfixturevalue(name)
    first = run(program, "--seed", "3", "-v", "-v", "--log-file", tmp_path / "a b.log", "--dump-config")
    assert first.code == 0 and first.err == "", first
    assert max(map(len, (line for line in first.out.splitlines() if line.startswith("# ")))) <= 80
    assert 'seed = "3"' in first.out and "verbose = 2" in first.out and f'log-file = "{tmp_path}/a b.log"' in first.out
    file = tmp_path / "my.config"
    file.write_text(first.out)
    assert run(program, "--config", file, "--dump-config").out == first.out
    # The command line comes first.
    assert 'seed = "2"' in run(program, "--config", file, "--seed", "2", "--dump-config").out


def test_lists_keep_their_commas(taso_opt, tmp_path):
    file = tmp_path / "my.config"
    given = ("--test-input-shape", "a:b:1,3,224,224", "--test-input-shape", "y:2,2", "--disable-pass", "identity")
    first = run(taso_opt, *given, "--dry-run", "--dump-config")
    assert 'test-input-shape = ["a:b:1,3,224,224", "y:2,2"]' in first.out and "dry-run = true" in first.out
    file.write_text(first.out)
    assert run(taso_opt, "--config", file, "--dump-config").out == first.out


@pytest.mark.parametrize("name", ["it's", 'a "b"', 'c:\\d', 'c:\\d "e"', 'c:\\', "a, b", "[a]", "  a  ", ";a", "a=b"])
def test_quotes_are_kept(name, taso_opt, tmp_path):
    file = tmp_path / "my.config"
    first = run(taso_opt, "-o", name, "--dump-config")
    file.write_text(first.out)
    assert first.code == 0 and name in first.out and run(taso_opt, "--config", file, "--dump-config").out == first.out


@pytest.mark.parametrize("name", ["it's \"b\"", "it's c:\\d", "two\nlines", "run#1.onnx", '"', "'a'", "a b\\"])
def test_what_no_file_can_hold_is_refused(name, taso_opt):
    done = run(taso_opt, "-o", name, "--dump-config")
    assert done.code == 2 and done.out == "" and "can hold the value of --output" in done.err, done


@pytest.mark.parametrize("text", ['output = "run#1.onnx"\n', 'rules = ["a#b", "c"]\n'])
def test_a_comment_within_quotes_is_not_taken_for_the_end(text, taso_opt, tmp_path):
    file = tmp_path / "my.config"
    file.write_text(text)
    done = run(taso_opt, "--config", file, "--dump-config")
    # Older readers do not see the end of the quotes, or no value at all; newer ones do, and then it cannot be written.
    reasons = {3: ("the quotes of",), 2: ("no configuration file can hold", "needs a value")}
    assert done.out == "" and any(reason in done.err for reason in reasons.get(done.code, ())), done


def test_the_options_take_effect(taso_opt, tmp_path):
    save(models.with_identity(), tmp_path / "model.onnx")
    (tmp_path / "my.config").write_text('dry-run = true\nbudget = 0\nquiet = 1\n')
    done = run(taso_opt, tmp_path / "model.onnx", "--config", tmp_path / "my.config")
    assert done.code == 0 and done.out == "", done


def test_mistakes_are_told(taso_opt, tmp_path):
    file = tmp_path / "my.config"
    file.write_text("budgt = 3\n")
    done = run(taso_opt, "model.onnx", "--dry-run", "--config", file)
    assert done.code == 3 and f"{file}: unknown option 'budgt'; did you mean 'budget'?" in done.err, done
    file.write_text("[search]\nbudget = 3\n")
    done = run(taso_opt, "model.onnx", "--dry-run", "--config", file)
    assert done.code == 3 and "there are no sections, but there is [" in done.err, done
    file.write_text("budget = many\n")
    done = run(taso_opt, "model.onnx", "--dry-run", "--config", file)
    assert done.code == 2 and "--budget takes" in done.err, done
    done = run(taso_opt, "model.onnx", "--dry-run", "--config", tmp_path / "none")
    assert done.code == 3 and "cannot read" in done.err, done


@pytest.mark.parametrize("line", ["version = true", "list-rules = true", "help = true", "config = other",
                                  "dump-config = true"])
def test_what_only_prints_is_for_the_command_line(line, taso_opt, tmp_path):
    file = tmp_path / "my.config"
    file.write_text(line + "\n")
    done = run(taso_opt, "model.onnx", "--dry-run", "--config", file)
    name = line.split()[0]
    assert done.code == 3 and f"{file}: '{name}' is for the command line only" in done.err, done


def test_a_flag_takes_no_list(taso_opt, tmp_path):
    file = tmp_path / "my.config"
    file.write_text("force = [yes, no]\n")
    done = run(taso_opt, "model.onnx", "--dry-run", "--config", file)
    assert done.code == 2 and "--force takes no value but true, false or a number, not a list" in done.err, done


def test_counts_are_added_up(taso_opt):
    assert "\nverbose = 4\n" in run(taso_opt, "-v", "--verbose=3", "--dump-config").out


def test_a_misspelt_clean_up_gets_a_proposal(taso_opt):
    done = run(taso_opt, "model.onnx", "--dry-run", "--disable-pass", "identiti")
    assert done.code == 2 and "did you mean 'identity'?" in done.err


@pytest.mark.parametrize("line, message", [
    ('alpha = "x"', "--alpha takes a number from 1 to 100, not 'x'"),
    ("budget = -3", "--budget takes a whole number from 0 to 1000000000, not '-3'"),
    ('search = "nope"', "--search takes backtracking, saturation or both, not 'nope'"),
    ('quiet = "many"', "--quiet takes no value but true, false or a number, not 'many'"),
    ("verbose = -2", "--verbose takes true, false or how often it counts, not '-2'")])
def test_the_file_of_a_wrong_value_is_named(line, message, taso_opt, tmp_path):
    file = tmp_path / "my.config"
    file.write_text(line + "\n")
    done = run(taso_opt, "model.onnx", "--dry-run", "--config", file)
    assert done.code == 2 and done.err == f"taso-opt: error: {file}: {message} (taso-opt --help lists the options)\n"


def test_the_file_is_not_blamed_for_the_command_line(taso_opt, tmp_path):
    file = tmp_path / "my.config"
    file.write_text("alpha = 2\nverbose = 1\n")
    for given, option in (("--alpha=y", "--alpha"), ("--verbose=-2", "--verbose")):
        done = run(taso_opt, "model.onnx", "--dry-run", "--config", file, given)
        assert done.code == 2 and done.err.startswith(f"taso-opt: error: {option} takes "), done

"""What all programs share: messages about the command line, help, and completions of shells."""

import re
import shutil
import subprocess

import pytest

from opt_models import run

PROGRAMS = ("taso_opt", "taso_verify", "taso_gen", "taso_bench", "taso_networks")
every_program = pytest.mark.parametrize("name", PROGRAMS)


@every_program
@pytest.mark.parametrize("arguments, message", [
    (("--log-file",), "--log-file needs a value"),
    (("--log-file", ""), "--log-file needs a value"),
    (("--log-file", "--verbose"), "--log-file needs a value, but --verbose follows it"),
    (("--log-file", "a", "--log-file", "b"), "--log-file is given more than once"),
    (("--verbose=much",), "--verbose takes no value but true, false or a number, not 'much'"),
    (("--color", "alway"), "--color takes auto, always or never, not 'alway'; did you mean 'always'?"),
    (("--color", "NEVER"), "--color takes auto, always or never, not 'NEVER'; did you mean 'never'?"),
    (("--color", "auto,never"), "--color takes auto, always or never, not 'auto,never'"),
    (("--clor", "never"), "unknown option '--clor'; did you mean '--color'?"),
])
def test_a_mistake_is_told_in_one_sentence(name, arguments, message, request):
    program = request.getfixturevalue(name)
    done = run(program, *arguments)
    assert done.code == 2 and done.out == "", done
    assert done.err.startswith(f"{program.name}: error: {message}"), done
    assert done.err.endswith(f" ({program.name} --help lists the options)\n") and len(done.err.splitlines()) == 1


@every_program
def test_a_number_may_be_too_large(name, request):
    done = run(request.getfixturevalue(name), "--verbose=99999999999999999999")
    assert done.code == 2 and "number" in done.err and "bug" not in done.err, done  # versions of the parser differ


@pytest.mark.parametrize("name, arguments, message", [
    ("taso_opt", ("--precision", "f16"), "--precision takes tf32, fp32, fp16 or bf16, not 'f16'; did you mean 'fp16'?"),
    ("taso_opt", ("--objective", "tme"), "--objective takes time, memory or launches, not 'tme'; did you mean 'time'?"),
    ("taso_opt", ("--float", "fest"), "--float takes strict, usual or fast, not 'fest'; did you mean 'fast'?"),
    ("taso_opt", ("--device", "CUDA"), "--device takes cuda or auto, not 'CUDA'; did you mean 'cuda'?"),
    ("taso_opt", ("--target", "onnxruntime:cud"), "not 'onnxruntime:cud'; did you mean 'onnxruntime:cuda'?"),
    ("taso_opt", ("--precision", "fp16,tf32"), "--precision takes tf32, fp32, fp16 or bf16, not 'fp16,tf32'"),
    ("taso_opt", ("model", "--dry-run", "--alpha", "inf"), "--alpha takes a number from 1 to 100, not 'inf'"),
    ("taso_opt", ("model", "--dry-run", "--alpha", "0.5"), "--alpha takes a number from 1 to 100, not '0.5'"),
    ("taso_opt", ("model", "--dry-run", "--max-growth", "1e7"), "takes a number from 0 to 1000000, not '1e7'"),
    ("taso_bench", ("--precision", "fp16,tf3"), "--precision takes tf32, fp32, fp16 or bf16, not 'tf3'; did you mean"),
    ("taso_networks", ("--type", "float"), "--type takes float32, float16, bfloat16 or double, not 'float'"),
])
def test_a_mistyped_choice_gets_a_proposal(name, arguments, message, request):
    done = run(request.getfixturevalue(name), *arguments)
    assert done.code == 2 and message in done.err and len(done.err.splitlines()) == 1, done


def choices_of(program):
    """The options with fixed values, as the help shows them."""
    shown = re.findall(r"^  (?:-\w,)?(--[\w-]+) (\S+\|\S+)", run(program, "--help").out, re.MULTILINE)
    return {option: values.removesuffix(",...").split("|") for option, values in shown}


@every_program
def test_every_choice_is_accepted(name, request):
    program = request.getfixturevalue(name)
    choices = choices_of(program)
    assert choices["--color"] == ["auto", "always", "never"]
    for option, values in choices.items():
        for value in values:
            done = run(program, option, value)  # nothing to do is given
            assert "takes" not in done.err and "bug" not in done.err, done


@every_program
def test_help_has_groups_within_80_columns(name, request):
    text = run(request.getfixturevalue(name), "--help").out
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80 and "\n\n\n" not in text
    groups = [line for line in lines if re.fullmatch(r"[A-Z][\w ]*:", line)]
    assert groups[:2] == ["Arguments:", "Options:"] and "Output:" in groups and len(groups) == len(set(groups))
    for group, options in zip(groups, re.split(r"^[A-Z][\w ]*:$", text, flags=re.MULTILINE)[1:]):
        assert len(re.findall(r"^  -", options, re.MULTILINE)) <= 18, f"{group} has too many options to be read"


# --- Completions ---

@pytest.fixture
def completed(request, tmp_path):
    """What a shell proposes after these words; the last one may be incomplete."""
    def completed(shell, name, *words):
        program = request.getfixturevalue(name)
        if not shutil.which(shell):
            pytest.skip(f"there is no {shell}")
        file = tmp_path / f"{program.name}.{shell}"
        file.write_text(run(program, "--generate", shell).out)
        if shell == "fish":
            script = f"source {file}; complete -C '{' '.join([program.name, *words])}'"
        else:
            listed = " ".join(f"'{word}'" for word in (program.name, *words))
            script = (f"source {file}; compopt() {{ :; }}; COMP_WORDS=({listed}); COMP_CWORD={len(words)}; "
                      f"_{program.name.replace('-', '_')}; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
        done = subprocess.run([shell, "-c", script], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and done.stderr == "", done
        return sorted(line.split("\t")[0] for line in done.stdout.splitlines() if line)
    return completed


@every_program
def test_bash_completes_choices(name, completed, request):
    for option, values in choices_of(request.getfixturevalue(name)).items():
        assert completed("bash", name, option, "") == sorted(values)
        assert completed("bash", name, option, values[0]) == sorted(one for one in values if one.startswith(values[0]))
        assert completed("bash", name, option, "=") == sorted(values)  # bash has = as a word of its own
        assert completed("bash", name, option, "=", values[0][:2]) == sorted(
            one for one in values if one.startswith(values[0][:2]))
    assert completed("bash", name, "--colo") == ["--color"]
    assert completed("bash", name, "--log-file", "--") == []  # a file is next


@every_program
def test_fish_completes_choices(name, completed, request):
    for option, values in choices_of(request.getfixturevalue(name)).items():
        assert completed("fish", name, option, "") == sorted(values)
    assert completed("fish", name, "--color=n") == ["--color=never"]


@every_program
def test_zsh_is_told_the_choices(name, request):
    program = request.getfixturevalue(name)
    text = run(program, "--generate", "zsh").out
    for option, values in choices_of(program).items():
        listed = " ".join(values).replace(":", "\\:")
        assert re.search(rf"^  {option}='\[.*\]:value:\({re.escape(listed)}\)' ", text, re.MULTILINE), option

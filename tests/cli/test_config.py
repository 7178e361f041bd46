"""--config and --dump-config, which all programs have."""

import pytest

import opt_models as models
from opt_models import run, save

PROGRAMS = ("taso_opt", "taso_verify", "taso_gen", "taso_bench")


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_dumped_can_be_read(name, request, tmp_path):
    program = request.getfixturevalue(name)
    first = run(program, "--jobs", "3", "-v", "-v", "--log-file", tmp_path / "a b.log", "--dump-config")
    assert first.code == 0 and first.err == "", first
    assert max(map(len, (line for line in first.out.splitlines() if line.startswith("# ")))) <= 80
    assert 'jobs = "3"' in first.out and "verbose = 2" in first.out and f'log-file = "{tmp_path}/a b.log"' in first.out
    file = tmp_path / "my.config"
    file.write_text(first.out)
    assert run(program, "--config", file, "--dump-config").out == first.out
    # The command line comes first.
    assert 'jobs = "2"' in run(program, "--config", file, "--jobs", "2", "--dump-config").out


def test_lists_keep_their_commas(taso_opt, tmp_path):
    file = tmp_path / "my.config"
    given = ("--test-input-shape", "a:b:1,3,224,224", "--test-input-shape", "y:2,2", "--disable-pass", "identity")
    first = run(taso_opt, *given, "--dry-run", "--dump-config")
    assert 'test-input-shape = ["a:b:1,3,224,224", "y:2,2"]' in first.out and "dry-run = true" in first.out
    file.write_text(first.out)
    assert run(taso_opt, "--config", file, "--dump-config").out == first.out


@pytest.mark.parametrize("name", ["it's", 'a "b"', 'c:\\d', 'c:\\d "e"'])
def test_quotes_are_kept(name, taso_opt, tmp_path):
    file = tmp_path / "my.config"
    first = run(taso_opt, "-o", name, "--dump-config")
    file.write_text(first.out)
    assert first.code == 0 and name in first.out and run(taso_opt, "--config", file, "--dump-config").out == first.out


@pytest.mark.parametrize("name", ["it's \"b\"", "it's c:\\d", "two\nlines", "run#1.onnx"])
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
    assert done.code == 3 and "there are no sections" in done.err, done
    file.write_text("budget = many\n")
    done = run(taso_opt, "model.onnx", "--dry-run", "--config", file)
    assert done.code == 2 and "--budget takes" in done.err, done
    done = run(taso_opt, "model.onnx", "--dry-run", "--config", tmp_path / "none")
    assert done.code == 3 and "cannot read" in done.err, done


def test_a_misspelt_clean_up_gets_a_proposal(taso_opt):
    done = run(taso_opt, "model.onnx", "--dry-run", "--disable-pass", "identiti")
    assert done.code == 2 and "did you mean 'identity'?" in done.err

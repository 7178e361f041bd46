"""taso-verify as people use it: what it prints, what it writes, how it ends."""

import json
import os
import pty
import re
import signal
import stat
import subprocess
import time
import xml.etree.ElementTree

import pytest

from running import run

PROVED = """rule relu-twice
  relu(relu(x)) => relu(x)
  by relu-of-relu
"""
PROVED_TOO = """# [x, y] cut where it was joined
candidate cut-of-joined
  split[axis=0, at=dim(x, 0)](concat[axis=0](x, y)) => x, y
"""
REFUTED = """candidate minus-turned-round
  sub(x, y) => sub(y, x)
"""
REFUTED_TOO = """candidate product-turned-round
  matmul(x, y) => matmul(y, x)
"""
CONDITIONAL = """candidate bias-of-groups-forgotten
  concat[axis=1](conv[groups=g](x, w), conv[groups=g](x, v)) => conv[groups=g](x, concat[axis=0](w, v))
  where spatial(w) = spatial(v)
"""


@pytest.fixture
def write(tmp_path):
    def write(*items, name="some.rules"):
        path = tmp_path / name
        path.write_text("taso rules 1\n\n" + "\n".join(items))
        return path

    return write


@pytest.fixture
def verify(taso_verify, tmp_path):
    """With a cache that the runs of a test share, instead of the user's own."""

    def verify(*arguments, **options):
        environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "caches"), **options.pop("env", {})}
        return run(taso_verify, *arguments, env=environment, **options)

    return verify


def report_of(verify, *arguments, folder, code=None):
    done = verify(*arguments, "--report", folder / "report.json")
    assert code is None or done.code == code, done
    return json.loads((folder / "report.json").read_text())


def table(err):
    """The verdicts by rule, from the table."""
    lines = err.splitlines()
    start = next(i for i, line in enumerate(lines) if re.match(r"rule +verdict", line))
    return {line.split()[0]: line.split()[1] for line in lines[start + 1:lines.index("", start)]}


# --- Verdicts and endings ---


def test_proved_rules_pass(verify, write):
    done = verify(write(PROVED, PROVED_TOO))
    assert done.code == 0, done
    assert done.out == ""
    assert table(done.err) == {"relu-twice": "proved", "cut-of-joined": "proved"}
    assert re.search(r"^relu-twice +proved +relu-of-relu$", done.err, re.MULTILINE)
    assert "2 rules: 2 proved" in done.err
    assert done.err.splitlines()[-1] == "PASSED"


def test_a_false_rule_is_shown_with_its_counterexample(verify, write):
    done = verify(write(PROVED, REFUTED))
    assert done.code == 5, done
    assert done.out == ""
    assert table(done.err) == {"relu-twice": "proved", "minus-turned-round": "refuted"}
    assert re.search(r"some\.rules:7: minus-turned-round is false\n  \S", done.err)
    assert "2 rules: 1 proved, 1 refuted" in done.err
    assert done.err.splitlines()[-1] == "FAILED"


def test_a_rule_that_needs_an_unstated_condition_fails(verify, write):
    done = verify(write(CONDITIONAL))
    assert done.code == 5, done
    assert re.search(r"^bias-of-groups-forgotten +conditional +where \S", done.err, re.MULTILINE)
    assert "is false as it stands" in done.err and "it is true where " in done.err
    condition = re.search(r"conditional +where (.*)", done.err).group(1)
    assert verify(write(CONDITIONAL.rstrip() + f", {condition}\n")).code == 0, "the condition that it names is enough"


def test_an_unknown_property_after_by_fails(verify, write):
    done = verify(write(PROVED.replace("relu-of-relu", "relu-of-relu, made-up")))
    assert done.code == 5
    assert "no such property: made-up" in done.err and done.err.splitlines()[-1] == "FAILED"


def test_axioms_in_a_file_are_validated(verify, write):
    true = "axiom relu-again\n  relu(relu(x)) = relu(x)\n"
    false = "axiom relu-of-any-sum\n  relu(add(x, y)) = add(relu(x), relu(y))\n"
    assert verify(write(true)).code == 0
    done = verify(write(true, false))
    assert done.code == 5
    assert table(done.err)["relu-of-any-sum"] == "refuted"
    assert "relu-of-any-sum is false" in done.err


def test_a_file_without_rules_is_proved(verify, write):
    done = verify(write())
    assert done.code == 0 and "0 rules" in done.err and done.err.splitlines()[-1] == "PASSED"


def test_many_counterexamples_are_abridged(verify, write):
    many = [REFUTED.replace("minus", f"minus-{i}") for i in range(25)]
    done = verify(write(*many))
    assert done.code == 5
    assert len(re.findall(" is false$", done.err, re.MULTILINE)) == 20
    assert "5 more counterexamples are shown with -v" in done.err
    assert len(re.findall(" is false$", verify(write(*many), "-v").err, re.MULTILINE)) == 25


def test_several_files_keep_their_order(verify, write):
    files = [write(REFUTED, name="b.rules"), write(PROVED, name="a.rules"), write(PROVED_TOO, name="c.rules")]
    done = verify(*files)
    assert done.code == 5
    assert list(table(done.err)) == ["minus-turned-round", "relu-twice", "cut-of-joined"]


def test_the_standard_input_is_a_file(verify, write):
    text = write(PROVED).read_text()
    assert verify("-", input=text).code == 0
    done = verify("-", input="taso rules 1\n\nrule x\n")
    assert done.code == 3 and "<stdin>:" in done.err


def test_verdicts_do_not_depend_on_the_number_of_jobs(verify, write, tmp_path):
    rules = [text.replace(" ", f" n{i}-", 1) for i in range(4) for text in (PROVED, REFUTED, REFUTED_TOO, PROVED_TOO)
             if not text.startswith("#")]
    path = write(*rules, CONDITIONAL)
    said, reports, junit = set(), [], set()
    for jobs in (1, 2, 7):
        done = verify(path, "--no-cache", "--jobs", jobs, "--report", tmp_path / "r.json", "--junit",
                      tmp_path / "r.xml")
        assert done.code == 5
        said.add(done.err)
        report = json.loads((tmp_path / "r.json").read_text())
        assert report.pop("seconds")["total"] > 0
        reports.append(report)
        junit.add((tmp_path / "r.xml").read_text())
    assert len(said) == 1 and len(junit) == 1
    assert reports[0] == reports[1] == reports[2]


# --- What is written ---


def test_the_report(verify, write, tmp_path):
    path = write(PROVED, REFUTED, CONDITIONAL)
    report = report_of(verify, path, "--no-cache", "--seed", "3", folder=tmp_path, code=5)
    assert report["schema_version"] == 1
    assert report["verdict"] == "FAILED" and report["seed"] == 3
    assert re.fullmatch(r"\d+\.\d+.*", report["versions"]["z3"])
    assert report["properties"]["count"] > 100 and re.fullmatch(r"[0-9a-f]{16,}", report["properties"]["hash"])
    assert report["totals"] == {"rules": 3, "proved": 1, "valid": 0, "conditional": 1, "refuted": 1, "unknown": 0,
                                "undecided": 0, "cannot be stated": 0}
    proved, refuted, conditional = report["rules"]
    assert (proved["name"], proved["file"], proved["line"]) == ("relu-twice", str(path), 3)
    assert proved["verdict"] == "proved" and proved["properties"] == ["relu-of-relu"] and proved["passed"]
    assert proved["instances"] >= 4 and proved["witness"]
    assert refuted["verdict"] == "refuted" and refuted["counterexample"] and not refuted["passed"]
    assert conditional["verdict"] == "conditional" and conditional["condition"] and conditional["counterexample"]
    assert len({rule["hash"] for rule in report["rules"]}) == 3
    assert len(report["seconds"]["rules"]) == 3


def test_the_junit_report_is_xml(verify, write, tmp_path):
    path = write(PROVED, REFUTED, name="a & b <\"'>.rules")
    assert verify(path, "--junit", tmp_path / "r.xml").code == 5
    root = xml.etree.ElementTree.parse(tmp_path / "r.xml").getroot()
    assert root.tag == "testsuites" and root.attrib["tests"] == "2" and root.attrib["failures"] == "1"
    suite, = root
    assert suite.attrib["name"] == str(path)
    first, second = suite
    assert first.tag == second.tag == "testcase" and first.attrib["name"] == "relu-twice" and len(first) == 0
    failure, = second
    assert failure.tag == "failure" and failure.attrib["type"] == "refuted" and failure.text.strip()


def test_printing_is_all_that_print_does(verify, write):
    path = write("# --- A heading ---\n", PROVED, PROVED_TOO, REFUTED)
    done = verify(path, "--print")
    assert done.code == 0 and done.err == ""
    assert done.out == path.read_text()
    again = verify("-", "--print", input=done.out)
    assert again.out == done.out
    both = verify(write(PROVED, name="a.rules"), write(REFUTED, name="b.rules"), "--print")
    assert both.code == 0 and both.out.count("taso rules 1") == 1 and "minus-turned-round" in both.out
    assert verify(path, path, "--print").code == 2, "one name twice is no rule file"


def test_agreement_shows_where_the_sides_are_equal(verify, write, source_folder, tmp_path):
    done = verify("--agreement", source_folder / "examples/agreement.rules", "--report", tmp_path / "report.json")
    assert done.code == 0 and done.out == ""
    assert "equal where 1 <= i2 < dim(x, 2) - 1 and 1 <= i3 < dim(x, 3) - 1 (proved for all shapes)" in done.err
    assert "equal everywhere (proved for all shapes)" in done.err
    assert "3 rules: 1 equal everywhere, 2 on a part of the output, 0 without a proved part\nPASSED" in done.err
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["schema_version"] == 1 and report["verdict"] == "PASSED"
    border, seam, same = (rule["instances"][0] for rule in report["agreement"])
    assert border["proved"][0][2] == {"low": "1", "high": "dim(x, 2) - 1"}
    assert len(border["open"]) == 4 and all(box["difference"]["example"] for box in border["open"])
    assert 0.9 < border["typical"]["share"] < 1 and border["field"]["error_bound"] < 1e-30
    assert len(seam["proved"]) == 2 and len(seam["open"]) == 1
    assert same["equal_everywhere"] and same["open"] == []


def test_agreement_leaves_out_what_it_cannot_compare(verify, write):
    other_shape = "candidate other-shape\n  x => slice[axis=0, begin=0, end=1](x)"
    done = verify("--agreement", write(PROVED_TOO, REFUTED, other_shape))
    assert done.code == 0
    assert "left out: it has more than one result" in done.err
    assert "no box is proved to be equal" in done.err and "differs in 1 box, for example at" in done.err
    assert "nothing is proved: " in done.err
    assert verify("--agreement").code == 2


def test_reports_never_replace_what_is_read(verify, write, tmp_path):
    path = write(PROVED)
    before = path.read_bytes()
    os.link(path, tmp_path / "hard")
    for arguments in (["--report", path], ["--junit", path], ["--log-file", tmp_path / "hard"],
                      ["--report", tmp_path / "r", "--junit", tmp_path / "r"],
                      ["--properties", path, "--report", path]):
        done = verify(path, *arguments)
        assert done.code == 2 and len(done.err.splitlines()) == 1, (arguments, done)
    assert path.read_bytes() == before


def test_unwritable_places_are_reported_at_once(verify, write, tmp_path):
    path = write(PROVED)
    (tmp_path / "file").write_text("")
    for flag in ("--report", "--junit", "--log-file", "--dump-smt"):
        done = verify(path, flag, tmp_path / "file" / "below")
        assert done.code == 6 and "rule " not in done.err, (flag, done)
    assert verify(path, "--cache", tmp_path / "file" / "below").code == 6


def test_usage_errors_are_one_line(verify, write):
    path = write(PROVED)
    for arguments in ([], [path, "--bogus"], [path, "--jobs", "x"], [path, "--time-limit", "-1"], [path, "--seed="],
                      [path, "--cache", "x", "--no-cache"], [path, "--properties-only"], [path, "--redundant"],
                      ["-", "-"], ["--properties-only", "--dump-smt", "x"], [path, "--color", "red"]):
        done = verify(*arguments)
        assert done.code == 2, (arguments, done)
        assert done.out == "" and len(done.err.splitlines()) == 1 and done.err.startswith("taso-verify: error: ")


def test_help_and_version_are_data(verify):
    help_text = verify("--help")
    assert help_text.code == 0 and "--second-prover" in help_text.out and help_text.err == ""
    version = verify("--version")
    assert version.code == 0 and version.err == ""
    for part in ("taso-verify ", "properties [0-9a-f]{16}", "Z3 "):
        assert re.search(rf"^{part}", version.out, re.MULTILINE), part


def test_verbosity_color_and_log(verify, write, tmp_path):
    path = write(PROVED)
    quiet = verify(path, "-q")
    assert quiet.code == 0 and quiet.err == ""
    assert "properties in" in verify(path, "-v").err
    assert "\x1b[1;32mPASSED\x1b[0m" in verify(path, "--color=always").err
    assert "\x1b" not in verify(path).err
    assert verify(path, "-q", "--log-file", tmp_path / "log").code == 0
    assert "relu-twice" in (tmp_path / "log").read_text()


# --- Certificates, the second prover, the cache ---


def fake_prover(folder, answer):
    path = folder / "prover"
    path.write_text("#!/bin/sh\nif [ \"$1\" = --version ]; then echo 'This is made up 1.0'; exit; fi\n"
                    f"cat >/dev/null\n{answer}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_certificates_are_smt_lib(verify, write, tmp_path):
    assert verify(write(PROVED, REFUTED), "--dump-smt", tmp_path / "smt" / "deep").code == 5
    names = sorted(os.listdir(tmp_path / "smt" / "deep"))
    assert names and all(re.fullmatch(r"relu-twice-\d+\.smt2", name) for name in names)
    for name in names:
        assert "(check-sat)" in (tmp_path / "smt" / "deep" / name).read_text()


def test_a_second_prover_confirms(verify, write, tmp_path):
    if subprocess.run(["sh", "-c", "command -v cvc5"], capture_output=True).returncode != 0:
        pytest.skip("cvc5 is not installed")
    report = report_of(verify, write(PROVED, PROVED_TOO), "--second-prover", "cvc5", folder=tmp_path, code=0)
    assert "cvc5" in report["versions"]["second_prover"]
    for rule in report["rules"]:
        assert rule["second_prover"]["confirmed"] >= 2 and rule["second_prover"]["open"] == 0


def test_a_second_prover_that_disagrees_is_a_bug(verify, write, tmp_path):
    prover = fake_prover(tmp_path, "echo sat")
    done = verify(write(PROVED, PROVED_TOO), "--second-prover", prover, "--junit", tmp_path / "r.xml", "--jobs", "1")
    assert done.code == 1, done
    assert "two provers disagree on relu-twice" in done.err and "made up 1.0 answers sat" in done.err
    assert "(check-sat)" in done.err and "relu(relu(x)) => relu(x)" in done.err
    assert "FAILED" in done.err.splitlines()
    root = xml.etree.ElementTree.parse(tmp_path / "r.xml").getroot()
    assert root.attrib["errors"] == "1" and root.attrib["skipped"] == "1"


@pytest.mark.parametrize("answer", ["echo unknown", "exit 3", "echo '(error \"no\")'", "yes", "sleep 100"])
def test_a_second_prover_that_does_not_know_is_counted(verify, write, tmp_path, answer):
    prover = fake_prover(tmp_path, answer)
    report = report_of(verify, write(PROVED), "--second-prover", prover, "--time-limit", "1", folder=tmp_path, code=0)
    rule, = report["rules"]
    assert rule["second_prover"]["confirmed"] == 0 and rule["second_prover"]["open"] >= 2


def test_a_missing_second_prover_is_reported(verify, write, tmp_path):
    done = verify(write(PROVED), "--second-prover", tmp_path / "nowhere")
    assert done.code == 6 and "cannot start the second prover" in done.err and len(done.err.splitlines()) == 1


def test_known_proofs_are_not_made_again(verify, write, tmp_path):
    path = write(PROVED, PROVED_TOO, REFUTED)
    first = report_of(verify, path, folder=tmp_path, code=5)
    second = report_of(verify, path, folder=tmp_path, code=5)
    assert [rule.pop("from_cache") for rule in first["rules"]] == [False, False, False]
    assert [rule.pop("from_cache") for rule in second["rules"]] == [True, True, False], "only proofs are kept"
    assert first["rules"] == second["rules"]
    assert not any(rule["from_cache"] for rule in report_of(verify, path, "--no-cache", folder=tmp_path)["rules"])
    assert not any(rule["from_cache"] for rule in report_of(verify, path, "--seed", "9", folder=tmp_path)["rules"])


def test_another_property_invalidates_the_cache(verify, write, tmp_path, source_folder):
    path = write(PROVED)
    properties = tmp_path / "properties.rules"
    text = (source_folder / "rules" / "properties.rules").read_text()

    def from_cache(text):
        properties.write_text(text)
        rule, = report_of(verify, path, "--properties", properties, folder=tmp_path, code=0)["rules"]
        return rule["from_cache"]

    assert not from_cache(text)
    assert from_cache(text)
    assert from_cache(text.replace("# ", "#  ")), "comments are not properties"
    assert not from_cache(text + "\naxiom one-more\n  relu(relu(relu(x))) = relu(x)\n")
    assert from_cache(text)


def test_a_damaged_cache_is_ignored(verify, write, tmp_path):
    path, folder = write(PROVED, PROVED_TOO), tmp_path / "cache"

    def from_cache():
        rules = report_of(verify, path, "--cache", folder, folder=tmp_path, code=0)["rules"]
        return [rule["from_cache"] for rule in rules]

    assert from_cache() == [False, False]
    assert from_cache() == [True, True]
    file, = folder.glob("*.proofs")
    good = file.read_bytes()
    for bad in (b"", b"\0" * 1000, good[:40], b"something else\n" + good,
                good.replace(b"relu-of-relu", b"made-up-name"),
                good.replace(b"taso proofs 1", b"taso proofs 2")):
        file.write_bytes(bad)
        assert False in from_cache(), bad[:60]
        assert from_cache() == [True, True], "and it is repaired"
    file.unlink()
    file.mkdir()
    assert verify(path).code == 0


def test_processes_share_the_cache(taso_verify, write, tmp_path):
    rules = [PROVED.replace("relu-twice", f"relu-{i}").replace("relu(relu(x))", "relu(" * (i + 2) + "x" + ")" * (i + 2))
             for i in range(8)]
    files = [write(*rules[i:i + 2], name=f"{i}.rules") for i in range(0, 8, 2)]
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    running = [subprocess.Popen([taso_verify, "-q", file], env=environment) for file in files]
    assert [process.wait() for process in running] == [0] * 4
    done = run(taso_verify, *files, env=environment)
    assert "cache: 8 of the proofs were already known" in done.err


# --- Properties ---


def test_properties_are_validated(verify, tmp_path, source_folder):
    file = tmp_path / "properties.rules"
    file.write_text("taso rules 1\n\naxiom relu-of-relu\n  relu(relu(x)) = relu(x)\n\n"
                    "axiom add-commutes\n  add(x, y) = add(y, x)\n")
    done = verify("--properties-only", "--properties", file, "--report", tmp_path / "r.json")
    assert done.code == 0, done
    assert re.search(r"^relu-of-relu +\d+ +\d+ +\d+ +yes$", done.err, re.MULTILINE)
    assert "2 properties: 2 proved for all shapes" in done.err and done.err.splitlines()[-1] == "PASSED"
    report = json.loads((tmp_path / "r.json").read_text())
    for rule in report["validated"]:
        assert rule["proved_for_all_shapes"] == rule["instances"] > 0 and rule["random_shapes"] > 0


def test_a_law_for_a_class_is_one_property_and_its_members_are_proved(verify, tmp_path):
    file = tmp_path / "properties.rules"
    file.write_text("taso rules 1\n\naxiom f-of-pad for f in keeps_zero\n"
                    "  f(pad[before=b, after=c](x)) = pad[before=b, after=c](f(x))\n")
    done = verify("--properties-only", "--properties", file, "--report", tmp_path / "r.json")
    assert done.code == 0, done
    assert "1 property and 18 memberships: 19 proved for all shapes" in done.err
    assert re.search(r"^tanh-keeps-zero +\d+ +\d+ +\d+ +yes$", done.err, re.MULTILINE)
    law, *members = json.loads((tmp_path / "r.json").read_text())["validated"]
    assert law["proved_once"] and "tanh-of-pad" in law["members"] and len(law["members"]) == 9
    assert len(members) == 18
    assert verify("--print", "--properties-only", "--properties", file).out == file.read_text()


def test_a_law_that_is_false_for_a_member_is_caught(verify, tmp_path):
    file = tmp_path / "properties.rules"
    file.write_text("taso rules 1\n\naxiom f-of-pad for f in unary\n"
                    "  f(pad[before=b, after=c](x)) = pad[before=b, after=c](f(x))\n")
    done = verify("--properties-only", "--properties", file)
    assert done.code == 5 and "f-of-pad is false\n  exp-of-pad:\n" in done.err, done


def test_a_law_for_a_class_in_both_directions_is_proved_rule_by_rule(verify, write):
    done = verify(write("rule f-before-concat for f in rising\n"
                        "  f(concat[axis=a](x, y)) <=> concat[axis=a](f(x), f(y))\n"))
    assert done.code == 0 and "12 rules: 12 proved" in done.err, done
    assert re.search(r"^relu-before-concat-back +proved +relu-of-concat", done.err, re.MULTILINE)


def test_a_false_property_is_caught(verify, tmp_path):
    file = tmp_path / "properties.rules"
    file.write_text("taso rules 1\n\naxiom relu-of-any-sum\n  relu(add(x, y)) = add(relu(x), relu(y))\n")
    done = verify("--properties-only", "--properties", file)
    assert done.code == 5
    assert re.search(r"^relu-of-any-sum .* FALSE$", done.err, re.MULTILINE)
    assert "relu-of-any-sum is false" in done.err and done.err.splitlines()[-1] == "FAILED"


def test_redundant_properties_are_reported_and_not_fatal(verify, tmp_path):
    file = tmp_path / "properties.rules"
    file.write_text("taso rules 1\n\naxiom relu-of-relu\n  relu(relu(x)) = relu(x)\n\n"
                    "axiom relu-three-times\n  relu(relu(relu(x))) = relu(x)\n")
    done = verify("--properties-only", "--properties", file, "--redundant")
    assert done.code == 0, done
    assert re.search(r"^relu-three-times .* yes +yes$", done.err, re.MULTILINE)
    assert "1 redundant" in done.err


def test_only_axioms_are_properties(verify, write, tmp_path):
    done = verify(write(PROVED), "--properties", write(PROVED, name="p.rules"))
    assert done.code == 3 and "p.rules:3:" in done.err and "^" in done.err
    assert verify(write(PROVED), "--properties", tmp_path / "nowhere").code == 3


# --- Progress and interrupts ---


def test_a_terminal_gets_a_live_line(taso_verify, write, tmp_path):
    path = write(PROVED, REFUTED)
    ours, theirs = pty.openpty()
    process = subprocess.Popen([taso_verify, path, "--no-cache"], stderr=theirs, env={**os.environ, "TERM": "xterm"})
    os.close(theirs)
    shown = b""
    while True:
        try:
            data = os.read(ours, 4096)
        except OSError:
            break
        if not data:
            break
        shown += data
    assert process.wait() == 5
    assert re.search(rb"\r\x1b\[K\d of 2: \d proved", shown)
    assert b"\x1b[1;31mFAILED\x1b[0m" in shown


@pytest.mark.parametrize("jobs, sent", [*((jobs, signal.SIGINT) for jobs in (1, 1, 2, 2, 2)), (2, signal.SIGTERM)])
def test_an_interrupt_reports_what_is_done(taso_verify, tmp_path, source_folder, jobs, sent):
    """Repeated, because a library with its own signal handling fails only now and then."""
    files = sorted((source_folder / "tests/verifier/sound").glob("*.rules"))
    process = subprocess.Popen([taso_verify, *files, "--no-cache", "--jobs", str(jobs), "-v", "--report",
                                tmp_path / "r.json"],
                               stderr=subprocess.PIPE, text=True)
    assert "rules in" in process.stderr.readline()  # from here on it works
    time.sleep(0.3)
    process.send_signal(sent)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["verdict"] == "INTERRUPTED" and report["totals"]["undecided"] > 0
    assert err.splitlines()[-1] == "INTERRUPTED"

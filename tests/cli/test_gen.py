"""taso-gen as people use it: what it finds, what it writes, how it ends, and that it resumes an interrupted run."""

import json
import os
import pty
import random
import re
import resource
import shutil
import signal
import subprocess
import time

import pytest

from running import left_in, run

# Takes a second, mostly derivations and proofs.
SOME = ["--operators", "add,mul,relu,transpose", "--max-ops", "3"]
# Takes a second or two, to a large part enumeration.
LONG = ["--operators", "matmul,add,relu,transpose", "--max-ops", "4"]
# Takes ten seconds, almost all of it proofs.
MANY = ["--operators", "matrices", "--max-ops", "3"]
# Takes a moment.
FEW = ["--operators", "add,relu", "--max-ops", "2"]
# What a run may leave for the next one.
KEPT = {"out.rules.checkpoint", "out.rules.checkpoint.stages"}


@pytest.fixture
def gen(taso_gen):
    return lambda *arguments, **options: run(taso_gen, *arguments, **options)


@pytest.fixture(scope="module")
def expected(taso_gen, tmp_path_factory):
    """What an uninterrupted run with one job writes."""
    folder = tmp_path_factory.mktemp("expected")
    done = run(taso_gen, "-o", folder / "out.rules", *SOME, "--jobs", "1", "--rejected", folder / "rejected.rules")
    assert done.code == 0, done
    return (folder / "out.rules").read_bytes(), (folder / "rejected.rules").read_bytes()


# --- What is found ---


def test_rules_are_found_and_proved(gen, taso_verify, tmp_path):
    out = tmp_path / "out.rules"
    done = gen("-o", out, "--operators", "small", "--max-ops", "2", "--all")
    assert done.code == 0, done
    assert done.out == "" and done.err.splitlines()[-1] == "PASSED"
    assert os.listdir(tmp_path) == ["out.rules"], "no checkpoint is left"
    text = out.read_text()
    assert text.startswith("taso rules 1\n\n# ")
    names = re.findall(r"^rule (\S+)$", text, re.MULTILINE)
    sections = re.split(r"^# --- (\d+) operators? on the larger side ---$", text, flags=re.MULTILINE)
    assert [int(size) for size in sections[1::2]][:3] == [1, 2, 3]
    for section in sections[2::2]:
        part = re.findall(r"^rule (\S+)$", section, re.MULTILINE)
        assert part == sorted(part)
    assert len(names) == len(set(names)) > 10
    assert "relu(relu(x)) => relu(x)" in text and "matmul(matmul(x, y), z) => matmul(x, matmul(y, z))" in text
    assert len(re.findall(r"^  by \S", text, re.MULTILINE)) == len(names)
    verified = run(taso_verify, out, "--no-cache")
    assert verified.code == 0, verified
    assert f"{len(names)} rules: {len(names)} proved" in verified.err


def test_useful_rules_are_written(gen, taso_verify, tmp_path):
    """Rules are as general as they are true, have names in words, and repeat nothing written by hand."""
    stated, report = tmp_path / "stated.rules", tmp_path / "r.json"
    stated.write_text("taso rules 1\n\nrule by-hand\n  relu(relu(x)) => relu(x)\n")
    common = ("--operators", "relu,add,concat0,concat1,split0,split1,matmul", "--max-ops", "3", "--report", report)
    assert gen("-o", tmp_path / "out.rules", *common, "--stated", stated).code == 0
    text, selection = (tmp_path / "out.rules").read_text(), json.loads(report.read_text())["selection"]
    assert "what searches can use" in " ".join(text.split("\n\n")[1].split())
    assert "rule merge-matmuls-shared-left\n" in text and "rule concat-of-relus\n" in text
    assert "add(x, y) => add(y, x)" not in text and "add(x, x)" not in text and "relu(relu(x)) => relu(x)" not in text
    assert "where broadcast(x, y, z)" in text and "concat[axis=rank(x) - 1](matmul(x, y), matmul(x, z))" in text
    names = re.findall(r"^rule (\S+)$", text, re.MULTILINE)
    assert len(names) == len(set(names)) and max(map(len, names)) <= 40
    left = list(selection.values())
    assert left == sorted(left, reverse=True) and left[-1] >= len(names)
    assert run(taso_verify, tmp_path / "out.rules", "--no-cache").code == 0
    assert gen("-o", tmp_path / "all.rules", *common, "--all").code == 0
    everything = (tmp_path / "all.rules").read_text()
    assert everything.count("\nrule ") > len(names) and "relu(relu(x)) => relu(x)" in everything
    assert json.loads(report.read_text())["selection"] is None
    done = gen("-o", tmp_path / "out.rules", *common, "--all", "--stated", stated)
    assert done.code == 2 and "--stated cannot be combined with --all" in done.err


def test_the_table_of_pruning(gen, tmp_path):
    done = gen("-o", tmp_path / "out.rules", "--operators", "small", "--max-ops", "2", "--report", tmp_path / "r.json")
    steps = [r"equalities", r"up to renaming of inputs", r"confirmed at other shapes and contents",
             r"not implied by smaller ones", r"without a common subgraph", r"distinct as rules",
             r"not coincidences", r"not derivable from smaller rules", r"proved", r"not special cases of others"]
    left = []
    for step in steps:
        found = re.search(rf"^{step} +([\d,]+)( +([\d,]+))?$", done.err, re.MULTILINE)
        assert found, (step, done.err)
        left.append(int(found.group(1).replace(",", "")))
        if len(left) > 1:
            assert int(found.group(3).replace(",", "")) == left[-2] - left[-1]
    assert left == sorted(left, reverse=True) and left[-1] > 5
    assert re.search(r"^matrices +[\d,]+", done.err, re.MULTILINE)
    assert re.search(r"^fingerprints: .* below \de-\d\d$", done.err, re.MULTILINE)
    report = json.loads((tmp_path / "r.json").read_text())
    assert [report["steps"][key] for key in ("equalities", "renamed", "confirmed", "not_following",
                                             "without_common_subgraph", "distinct", "general", "not_derived",
                                             "proved", "not_special")] == left


def test_the_report(gen, tmp_path):
    assert gen("-o", tmp_path / "out.rules", *FEW, "--report", tmp_path / "r.json", "--seed", "3").code == 0
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["schema_version"] == 1 and report["verdict"] == "PASSED" and report["complete"]
    assert report["operators"] == ["add", "relu"] and report["max_operators"] == 2 and report["seed"] == 3
    assert report["properties"]["count"] > 100 and re.fullmatch(r"[0-9a-f]{32}", report["properties"]["hash"])
    assert report["totals"]["graphs"] >= report["totals"]["evaluations"] >= report["totals"]["classes"] - 10 > 0
    assert report["totals"]["rules"] == (tmp_path / "out.rules").read_text().count("\nrule ")
    assert 0 < report["chance_of_a_coincidence"] < 1e-6
    assert report["run"]["seconds"] > 0 and report["run"]["peak_memory"] > 1 << 20 and report["run"]["timed_out"] == 0
    assert report["steps"]["refuted"] == len(report["refuted"]) and report["steps"]["undecided"] == 0
    assert isinstance(report["totals"]["graphs"], int) and isinstance(report["families"][0]["graphs"], int)
    assert report["run"]["jobs"] >= 1 and report["run"]["time_limit"] > 0 and report["run"]["spilled"] == 0
    assert report["never_used"] == [] and report["never_combined"] == []


def test_the_header_says_what_was_searched_and_not_when(gen, tmp_path):
    texts = []
    for seed in (1, 1, 2):
        assert gen("-o", tmp_path / "out.rules", *FEW, "--seed", seed).code == 0
        texts.append((tmp_path / "out.rules").read_text())
    assert texts[0] == texts[1]
    header = re.match(r"taso rules 1\n\n((?:# .*\n)+)\n", texts[0]).group(1)
    assert "at most 2" in header and "add relu" in header and re.search(r"[0-9a-f]{32}", header)
    assert texts[0].replace("(seed 1)", "(seed 2)") == texts[2], "the same rules at other contents"
    words = " ".join(header.replace("# ", "").split())
    assert "add relu. They were combined within one family: matrices. Of" in words, header
    assert gen("-o", tmp_path / "out.rules", "--operators", "add,relu,sub,average_pool", "--max-ops", "2").code == 0
    words = " ".join(re.findall(r"^# (.*)$", (tmp_path / "out.rules").read_text().split("\n\n")[1], re.MULTILINE))
    assert ("They were combined within families, each by itself: matrices, differences, images, image differences. Of "
            "what is proved,") in words, words


def test_unproved_candidates_are_listed_separately(gen, tmp_path):
    """Without properties there is only the normal form, which cannot prove everything."""
    properties = tmp_path / "p.rules"
    properties.write_text("taso rules 1\n\naxiom relu-of-relu\n  relu(relu(x)) = relu(x)\n")
    done = gen("-o", tmp_path / "out.rules", *FEW, "--properties", properties, "--rejected", tmp_path / "rejected.rules",
               "--report", tmp_path / "r.json")
    assert done.code == 0, done
    report = json.loads((tmp_path / "r.json").read_text())
    rejected = (tmp_path / "rejected.rules").read_text()
    assert rejected.startswith("taso rules 1\n\n# Candidates that did not become rules.")
    assert rejected.count("\ncandidate ") == len(report["refuted"]) + len(report["unknown"])
    assert "candidate " not in (tmp_path / "out.rules").read_text()


def test_the_same_bytes_with_any_number_of_jobs(gen, tmp_path, expected):
    for jobs in (1, 2, 4):
        out, rejected = tmp_path / f"{jobs}.rules", tmp_path / f"{jobs}.rejected"
        assert gen("-o", out, *SOME, "--jobs", jobs, "--rejected", rejected).code == 0
        assert (out.read_bytes(), rejected.read_bytes()) == expected


# --- Operators ---


def test_operators_are_listed(gen):
    done = gen("--list-operators")
    assert done.code == 0 and done.err == ""
    for name in ("full", "taso", "small", "conv3x3", "matmul", "average_pool"):
        assert re.search(rf"^  {name} ", done.out, re.MULTILINE), name


def test_unknown_operators(gen, tmp_path):
    done = gen("-o", tmp_path / "out.rules", "--operators", "add,matmull")
    assert done.code == 2 and "did you mean 'matmul'?" in done.err and len(done.err.splitlines()) == 1
    assert not os.listdir(tmp_path)


def test_custom_sets(gen, tmp_path):
    sets = tmp_path / "my.sets"
    sets.write_text("taso operator sets 1\n\nmine: add\n  relu\n")
    assert gen("-o", tmp_path / "a.rules", "--operator-sets", sets, "--operators", "mine", "--max-ops", "2").code == 0
    assert gen("-o", tmp_path / "b.rules", *FEW).code == 0
    assert (tmp_path / "a.rules").read_bytes() == (tmp_path / "b.rules").read_bytes()
    sets.write_text("taso operator sets 1\n\nmine: add,\n  rellu\n")
    done = gen("-o", tmp_path / "a.rules", "--operator-sets", sets, "--operators", "mine")
    assert done.code == 3 and f"{sets}:4:3: " in done.err and "^" in done.err
    assert gen("-o", tmp_path / "a.rules", "--operator-sets", tmp_path / "nowhere").code == 3


def test_a_missing_default_set(gen, tmp_path):
    sets = tmp_path / "my.sets"
    sets.write_text("taso operator sets 1\n\nmine: add\n")
    done = gen("-o", tmp_path / "a.rules", "--operator-sets", sets)
    assert done.code == 2 and "has no set 'full', which is the default" in done.err, done


def test_sets_that_cannot_be_read(gen, tmp_path):
    for place, why in ((tmp_path, "is a folder, not a file"),
                       (tmp_path / "nowhere", "cannot read: No such file or directory")):
        done = gen("-o", tmp_path / "a.rules", "--operator-sets", place)
        assert done.code == 3 and f"{place}: {why}" in done.err and len(done.err.splitlines()) == 1, done


def test_operators_that_form_no_program(gen, tmp_path):
    for operators in ("split0", "enlarge,identity_kernel", "stack_split1,matrix_to_stack"):
        done = gen("-o", tmp_path / "out.rules", "--operators", operators)
        assert done.code == 2 and "there is no program" in done.err and len(done.err.splitlines()) == 1, done
    assert not os.listdir(tmp_path)
    done = gen("-o", tmp_path / "out.rules", "--operators", "relu,split0", "--max-ops", "2")
    assert done.code == 0 and re.search("^taso-gen: warning: these operators are never used: .*: split0$", done.err, re.MULTILINE), done


def test_operators_that_are_never_combined_are_reported(gen, tmp_path):
    done = gen("-o", tmp_path / "out.rules", "--operators", "sub,relu", "--max-ops", "2", "--report", tmp_path / "r.json")
    assert done.code == 0 and "never combined: relu with sub\n" in done.err, done
    assert json.loads((tmp_path / "r.json").read_text())["never_combined"] == [["relu", "sub"]]
    assert "never combined" not in gen("-o", tmp_path / "out.rules", *FEW).err


# --- The command line ---


def test_usage_errors_are_one_line(gen, tmp_path):
    out = ["-o", tmp_path / "out.rules"]
    for arguments in ([], [*out, "--bogus"], [*out, "--jobs", "x"], [*out, "--max-ops", "0"], [*out, "--seed="],
                      [*out, "--max-ops", "1000"], [*out, "--memory-limit", "lots"], [*out, "--time-limit", "-1"],
                      [*out, "--color", "red"], [*out, "surplus"], [*out, "--operators", ""], [*out, *out],
                      ["-o", "-"]):
        done = gen(*arguments)
        assert done.code == 2, (arguments, done)
        assert done.out == "" and len(done.err.splitlines()) == 1 and done.err.startswith("taso-gen: error: ")
    assert not os.listdir(tmp_path)


def test_help_and_version_are_data(gen):
    help_text = gen("--help")
    assert help_text.code == 0 and "--max-ops" in help_text.out and help_text.err == ""
    version = gen("--version")
    assert version.code == 0 and version.err == ""
    for part in ("taso-gen ", "properties [0-9a-f]{16}", "Z3 "):
        assert re.search(rf"^{part}", version.out, re.MULTILINE), part


def test_nothing_replaces_what_is_read_or_written(gen, tmp_path, source_folder):
    properties = tmp_path / "p.rules"
    shutil.copy(source_folder / "rules" / "properties.rules", properties)
    sets = tmp_path / "o.sets"
    shutil.copy(source_folder / "rules" / "operators.sets", sets)
    before = properties.read_bytes(), sets.read_bytes()
    out = tmp_path / "out.rules"
    for arguments in (["-o", properties, "--properties", properties], ["-o", sets, "--operator-sets", sets],
                      ["-o", out, "--report", out], ["-o", out, "--checkpoint", out],
                      ["-o", out, "--rejected", tmp_path / "x", "--report", tmp_path / "x"],
                      ["-o", out, "--report", tmp_path / "out.rules.partial"],
                      ["-o", out, "--rejected", tmp_path / "x", "--report", tmp_path / "x.partial"],
                      ["-o", tmp_path / "x.partial", "--rejected", tmp_path / "x"],
                      ["-o", out, "--log-file", properties, "--properties", properties],
                      ["-o", source_folder / "rules" / "properties.rules"]):
        done = gen(*FEW, *arguments)
        assert done.code == 2 and len(done.err.splitlines()) == 1, (arguments, done)
    assert (properties.read_bytes(), sets.read_bytes()) == before
    out.write_text("precious")
    done = gen("-o", tmp_path / "other.rules", *FEW, "--checkpoint", out)
    assert done.code == 2 and out.read_text() == "precious", "a file that is not a checkpoint is not replaced"


def test_a_wrong_data_folder_is_reported(gen, tmp_path):
    done = gen("-o", tmp_path / "out.rules", *FEW, env={**os.environ, "TASO_DATA": "/no/such/folder"})
    assert done.code == 0 and "warning: TASO_DATA is /no/such/folder, which is no folder" in done.err, done


def test_bad_properties_are_reported(gen, tmp_path):
    properties = tmp_path / "p.rules"
    properties.write_text("taso rules 1\n\nrule x\n")
    done = gen("-o", tmp_path / "out.rules", *FEW, "--properties", properties)
    assert done.code == 3 and "p.rules:3:" in done.err
    assert os.listdir(tmp_path) == ["p.rules"]


def test_verbosity_color_and_log(gen, tmp_path):
    out = ["-o", tmp_path / "out.rules"]
    quiet = gen(*out, *FEW, "-q")
    assert quiet.code == 0 and quiet.err == ""
    assert "properties in" in gen(*out, *FEW, "-v").err
    assert "\x1b[1;32mPASSED\x1b[0m" in gen(*out, *FEW, "--color=always").err
    assert "\x1b" not in gen(*out, *FEW).err
    assert gen(*out, *FEW, "-q", "--log-file", tmp_path / "log").code == 0
    assert "PASSED" in (tmp_path / "log").read_text()


def test_a_terminal_gets_a_live_line(taso_gen, tmp_path):
    ours, theirs = pty.openpty()
    process = subprocess.Popen([taso_gen, "-o", tmp_path / "out.rules", *SOME], stderr=theirs,
                               env={**os.environ, "TERM": "xterm"})
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
    assert process.wait() == 0
    assert re.search(rb"\r\x1b\[K(enumerating|proving) ", shown)
    assert b"\x1b[1;32mPASSED\x1b[0m" in shown


# --- Interrupting and resuming ---


def start(taso_gen, *arguments):
    return subprocess.Popen([taso_gen, *map(str, arguments)], stderr=subprocess.PIPE, text=True)


def decisions(checkpoint):
    try:
        return max(checkpoint.read_bytes().count(b"\n") - 3, 0)
    except FileNotFoundError:  # not yet written, or just removed because the run has ended
        return 0


def enumerated(checkpoint):
    """Whether all candidates are known: the line after the header says which they are."""
    return checkpoint.exists() and checkpoint.read_bytes().count(b"\n") >= 3


@pytest.fixture(scope="module")
def unbroken(taso_gen, tmp_path_factory):
    """An uninterrupted run that takes some time to enumerate and to decide: what it writes, the seconds of the
    enumeration, and the number of decisions."""
    folder = tmp_path_factory.mktemp("unbroken")
    out, rejected, checkpoint = folder / "out.rules", folder / "rejected.rules", folder / "out.rules.checkpoint"
    start_time = time.monotonic()
    process = start(taso_gen, "-o", out, *LONG, "--rejected", rejected, "--jobs", "1")
    while process.poll() is None and not enumerated(checkpoint):
        time.sleep(0.002)
    seconds = time.monotonic() - start_time
    _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    count = int(re.search(r"^distinct as rules +([\d,]+)", err, re.MULTILINE).group(1).replace(",", ""))
    assert count > 20
    return (out.read_bytes(), rejected.read_bytes()), seconds, count


def kill_at(process, checkpoint, moment, seconds, count):
    """Kills the process during the enumeration, or after a part of the decisions; returns whether it still ran."""
    phase, part = moment
    if phase == "enumerating":
        time.sleep(part * seconds)
    while phase == "deciding" and process.poll() is None and decisions(checkpoint) < part * count:
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    _, err = process.communicate()
    assert process.returncode in (0, -signal.SIGKILL), err
    return process.returncode != 0


def kill_and_resume(taso_gen, folder, unbroken, moments, choice):
    """Kills runs again and again, then lets one finish; returns the phase of each kill."""
    expected, seconds, count = unbroken
    out, rejected, checkpoint = folder / "out.rules", folder / "rejected.rules", folder / "out.rules.checkpoint"
    arguments = ["-o", out, *LONG, "--rejected", rejected, "--resume"]
    phases = []
    for moment in moments:
        process = start(taso_gen, *arguments, "--jobs", choice.choice([1, 2, 4]))
        if not kill_at(process, checkpoint, moment, seconds, count):
            assert (out.read_bytes(), rejected.read_bytes()) == expected  # it finished too soon
            out.unlink()
            rejected.unlink()
            continue
        for written, whole in zip((out, rejected), expected):
            if written.exists():  # it was killed between this and its end
                assert written.read_bytes() == whole, "an output before the end"
                written.unlink()
        assert left_in(folder) <= KEPT, "something is left behind"
        phases.append("deciding" if enumerated(checkpoint) and moment[0] == "deciding" else "enumerating")
    done = run(taso_gen, *arguments, "--jobs", choice.choice([1, 2, 4]))
    assert done.code == 0, done
    assert (out.read_bytes(), rejected.read_bytes()) == expected
    assert set(os.listdir(folder)) == {out.name, rejected.name}
    out.unlink()
    rejected.unlink()
    return phases


def moments_of(choice, kills):
    """Half of the moments are in the enumeration, half in the decisions, in increasing order."""
    late = sorted(choice.uniform(0, 0.9) for _ in range(kills // 2))
    moments = [("deciding", part) for part in late]
    for _ in range(kills - len(late)):
        moments.insert(choice.randrange(len(moments) + 1), ("enumerating", choice.uniform(0, 1)))
    return moments


def test_killed_at_twenty_moments_and_resumed_gives_the_same_bytes(taso_gen, tmp_path, unbroken):
    choice = random.Random(4)
    phases = []
    rounds = 0
    while len(phases) < 20 and rounds < 12:  # a run may finish before its moment
        phases += kill_and_resume(taso_gen, tmp_path, unbroken, moments_of(choice, 5), choice)
        rounds += 1
    assert len(phases) >= 20 and min(phases.count("enumerating"), phases.count("deciding")) >= 5, phases


@pytest.mark.full
@pytest.mark.parametrize("seed", range(100, 120))
def test_killed_at_many_moments(taso_gen, tmp_path, unbroken, seed):
    choice = random.Random(seed)
    kill_and_resume(taso_gen, tmp_path, unbroken, moments_of(choice, 10), choice)


def killed_run(taso_gen, out, *arguments):
    """Kills a run once something is decided."""
    checkpoint = out.parent / f"{out.name}.checkpoint"
    process = start(taso_gen, "-o", out, *arguments)
    while process.poll() is None and decisions(checkpoint) < 3:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    if process.returncode == 0:
        pytest.skip("it was done before it could be killed")
    return checkpoint


def test_decisions_are_not_made_again(taso_gen, gen, tmp_path, expected):
    out = tmp_path / "out.rules"
    checkpoint = killed_run(taso_gen, out, *SOME, "--jobs", "1")
    assert decisions(checkpoint) >= 3
    done = gen("-o", out, *SOME, "--resume", "--report", tmp_path / "r.json")
    assert done.code == 0 and re.search(r"^checkpoint: \d+ decisions of an earlier run$", done.err, re.MULTILINE)
    assert out.read_bytes() == expected[0]
    assert json.loads((tmp_path / "r.json").read_text())["run"]["recalled"] >= 3
    assert not checkpoint.exists()


def test_a_checkpoint_of_another_run_is_refused(taso_gen, gen, tmp_path):
    out = tmp_path / "out.rules"
    checkpoint = killed_run(taso_gen, out, *SOME, "--jobs", "1")
    before = checkpoint.read_bytes()
    for arguments, what in ((["--operators", "small", "--max-ops", "2"], "operators"),
                            ([*SOME, "--seed", "9"], "seed"), ([*SOME[:2], "--max-ops", "2"], "max-ops")):
        done = gen("-o", out, *arguments, "--resume")
        assert done.code == 2 and f"({what} differs)" in done.err, done
        assert checkpoint.read_bytes() == before and not out.exists()
    done = gen("-o", out, *FEW)
    assert done.code == 0 and "of an earlier run is replaced" in done.err and not checkpoint.exists()


def test_a_damaged_checkpoint_gives_the_same_bytes(taso_gen, gen, tmp_path, expected):
    out = tmp_path / "out.rules"
    checkpoint = killed_run(taso_gen, out, *SOME, "--jobs", "1")
    good = checkpoint.read_bytes()
    middle = len(good) // 2
    for bad in (b"", good[:10], good[:-7], good[:middle] + b"\0" * 50 + good[middle:], good + b"\xff" * 5000):
        checkpoint.write_bytes(bad)
        done = gen("-o", out, *SOME, "--resume")
        assert done.code == 0 and out.read_bytes() == expected[0]
        assert bool(re.search(r"is damaged: \d+ decisions? could be read", done.err)) == (bad != b""), done


def test_two_runs_do_not_share_a_checkpoint(taso_gen, gen, tmp_path):
    out = tmp_path / "out.rules"
    process = start(taso_gen, "-o", out, *SOME, "--jobs", "1")
    while process.poll() is None and not (tmp_path / "out.rules.checkpoint").exists():
        time.sleep(0.002)
    done = gen("-o", out, *SOME)
    still_running = process.poll() is None
    process.kill()
    process.communicate()
    if not still_running:
        pytest.skip("it was done too soon")
    assert done.code == 6 and "used by another run" in done.err


def test_nothing_to_resume_starts_from_the_beginning(gen, tmp_path):
    done = gen("-o", tmp_path / "out.rules", *FEW, "--resume")
    assert done.code == 0 and "there is nothing to resume" in done.err


def interrupted_run(taso_gen, out, *arguments, sent=signal.SIGINT):
    """Interrupts a run once something is proved; returns its messages."""
    process = start(taso_gen, "-o", out, *MANY, "--jobs", "1", *arguments)
    while process.poll() is None and decisions(out.parent / f"{out.name}.checkpoint") < 30:
        time.sleep(0.005)
    process.send_signal(sent)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert err.splitlines()[-1] == "INTERRUPTED" and "--resume continues from there" in err
    return err


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM], ids=["interrupt", "terminate"])
def test_an_interrupt_writes_what_is_proved(sent, taso_gen, gen, tmp_path):
    out = tmp_path / "out.rules"
    err = interrupted_run(taso_gen, out, "--report", tmp_path / "r.json", sent=sent)
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["verdict"] == "INTERRUPTED" and not report["complete"] and report["steps"]["undecided"] > 0
    assert re.search(r"^decided before the end +\d+ +\d+ undecided$", err, re.MULTILINE)
    assert "# Not complete" in out.read_text()
    part = set(re.findall(r"^rule (\S+)$", out.read_text(), re.MULTILINE))
    assert gen("-o", out, *MANY, "--resume").code == 0
    assert part and part < set(re.findall(r"^rule (\S+)$", out.read_text(), re.MULTILINE))
    assert "# Not complete" not in out.read_text()


def test_an_interrupt_keeps_existing_files(taso_gen, tmp_path):
    out, rejected = tmp_path / "out.rules", tmp_path / "rejected"
    out.write_text("precious")
    rejected.write_text("dear")
    err = interrupted_run(taso_gen, out, "--rejected", rejected)
    assert out.read_text() == "precious" and rejected.read_text() == "dear"
    assert f"written: {out}.partial, which is incomplete; {out} is unchanged\n" in err
    for name in ("out.rules.partial", "rejected.partial"):
        assert "# Not complete" in (tmp_path / name).read_text()


def test_an_interrupt_names_what_is_there(taso_gen, gen, tmp_path):
    """Before the first decision, only programs are kept."""
    out = tmp_path / "out.rules"
    stages = tmp_path / "out.rules.checkpoint.stages"
    process = start(taso_gen, "-o", out, "--operators", "matrices", "--max-ops", "4", "--jobs", "1")
    while process.poll() is None and not (stages.exists() and any(stages.glob("[!.]*"))):
        time.sleep(0.005)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    named = re.search(r"^the programs so far are in (.*); --resume continues from there$", err, re.MULTILINE)
    assert named and named[1] == str(stages) and any(stages.iterdir()), err
    assert not (tmp_path / "out.rules.checkpoint").exists()


def test_an_early_interrupt_replaces_nothing(taso_gen, tmp_path):
    out = tmp_path / "out.rules"
    out.write_text("precious")
    process = start(taso_gen, "-o", out, "--operators", "taso", "--max-ops", "4")
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert out.read_text() == "precious" and os.listdir(tmp_path) == ["out.rules"]


# --- Limits of the machine ---


def test_unwritable_places_are_reported_at_once(gen, tmp_path):
    (tmp_path / "file").write_text("")
    for flag in ("-o", "--report", "--rejected", "--log-file", "--checkpoint"):
        out = [] if flag == "-o" else ["-o", tmp_path / "out.rules"]
        for place in (tmp_path / "file" / "below", tmp_path / "no such folder" / "file", tmp_path, "/dev/full",
                      "/proc/a-folder-that-nobody-writes-to"):
            done = gen(*out, *FEW, flag, place)
            assert done.code == 6 and len(done.err.splitlines()) == 1 and str(place) in done.err, (flag, place, done)
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes to any folder")
def test_a_folder_that_is_not_writable(gen, tmp_path):
    folder = tmp_path / "locked"
    folder.mkdir()
    folder.chmod(0o555)
    done = gen("-o", folder / "out.rules", *FEW)
    folder.chmod(0o755)
    assert done.code == 6 and len(done.err.splitlines()) == 1 and "Permission denied" in done.err, done
    assert not os.listdir(folder)


def test_a_memory_limit_that_is_too_small(gen, tmp_path):
    done = gen("-o", tmp_path / "out.rules", *FEW, "--memory-limit", "1M")
    assert done.code == 6 and "the memory limit of 1.00 MiB is too small" in done.err, done
    assert len(done.err.splitlines()) == 1 and not os.listdir(tmp_path)
    done = gen("-o", tmp_path / "out.rules", "--operators", "taso", "--max-ops", "4", "--memory-limit", "100M")
    assert done.code == 6 and "memory limit" in done.err and set(os.listdir(tmp_path)) <= KEPT, done


def test_decisions_survive_a_memory_limit(gen, tmp_path, unbroken):
    """Wherever the limit is reached, at the start or later: exit 6, nothing incomplete, and --resume continues."""
    codes = []
    for megabytes in (20, 30, 40, 50):
        done = gen("-o", tmp_path / "out.rules", *LONG, "--resume", "--memory-limit", f"{megabytes}M", "--jobs", "1")
        codes.append(done.code)
        if done.code == 0:
            break
        assert done.code == 6 and f"the memory limit of {megabytes}" in done.err, done
        assert set(os.listdir(tmp_path)) <= KEPT
    assert 6 in codes
    if codes[-1] != 0:
        assert gen("-o", tmp_path / "out.rules", *LONG, "--resume").code == 0
    assert (tmp_path / "out.rules").read_bytes() == unbroken[0][0]


def test_too_small_an_address_space(gen, tmp_path):
    """The system's own limit: an error, not a crash."""
    limit = 250 << 20
    done = gen("-o", tmp_path / "out.rules", "--operators", "taso", "--max-ops", "4", "--jobs", "1",
               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    assert done.code == 6 and "memory" in done.err and not (tmp_path / "out.rules").exists(), done


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 16 KB; only root can make one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if os.geteuid() != 0 or not shutil.which("mount"):
        pytest.skip("needs root to mount a small file system")
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", folder], capture_output=True).returncode != 0:
        pytest.skip("mounting is not allowed here")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_full_disk(gen, small_disk, tmp_path, expected):
    out = small_disk / "out.rules"
    out.write_text("precious")
    (small_disk / "ballast").write_bytes(b"\0" * 8192)
    done = gen("-o", out, *SOME)  # the checkpoint does not fit
    assert done.code == 6 and "No space left" in done.err and len(done.err.splitlines()) == 1, done
    assert out.read_text() == "precious"
    assert set(os.listdir(small_disk)) <= {"out.rules", "ballast", "out.rules.checkpoint"}
    (small_disk / "out.rules.checkpoint").unlink(missing_ok=True)
    free = os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_frsize
    (small_disk / "more").write_bytes(b"\0" * free)
    done = gen("-o", out, *SOME)  # not even its beginning
    assert done.code == 6 and "No space left" in done.err and out.read_text() == "precious", done
    assert set(os.listdir(small_disk)) == {"out.rules", "ballast", "more"}
    (small_disk / "more").unlink()
    done = gen("-o", out, *SOME, "--checkpoint", tmp_path / "checkpoint")  # the output does not fit
    if done.code != 0:
        assert done.code == 6 and "No space left" in done.err, done
        assert out.read_text() == "precious"
    (small_disk / "ballast").unlink()
    (small_disk / "out.rules.checkpoint").unlink(missing_ok=True)
    assert gen("-o", tmp_path / "moved.rules", *SOME, "--checkpoint", tmp_path / "checkpoint", "--resume").code == 0
    assert (tmp_path / "moved.rules").read_bytes() == expected[0]


def test_a_limit_on_the_size_of_files(gen, tmp_path, expected):
    out = tmp_path / "out.rules"
    for limit in (0, 500, 2000):
        done = gen("-o", out, *SOME, "--resume",
                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        assert done.code == 6 and len(done.err.splitlines()) <= 2, (limit, done)
        assert not out.exists()
    assert gen("-o", out, *SOME, "--resume").code == 0
    assert out.read_bytes() == expected[0]

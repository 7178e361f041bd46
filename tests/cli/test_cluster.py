"""taso-gen on several ranks, through MPI on one machine: the same bytes as alone, also after ranks were killed."""

import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import time

import pytest

from running import Run, left_in, run

# Takes a second or two, to a large part enumeration; its largest levels are kept in files.
LONG = ["--operators", "matmul,add,relu,transpose", "--max-ops", "4"]
# Takes a moment.
FEW = ["--operators", "add,relu", "--max-ops", "2"]
MPIRUN = ["mpirun", "--oversubscribe"]
# In a container: as root, without a remote shell, and without reading the memory of other processes.
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_plm": "isolated", "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}


@pytest.fixture(scope="module", autouse=True)
def module(programs):
    if not shutil.which("mpirun"):
        pytest.skip("there is no mpirun")
    found = programs.parent / "lib" / "taso" / "libtaso_mpi.so"
    if not found.is_file():
        pytest.skip("this build has no MPI module")
    return found


def start(taso_gen, ranks, *arguments):
    return subprocess.Popen([*MPIRUN, "-n", str(ranks), taso_gen, *map(str, arguments), "--jobs", "1"],
                            env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            errors="replace")


def run_ranks(taso_gen, ranks, *arguments):
    process = start(taso_gen, ranks, *arguments)
    out, err = process.communicate(timeout=300)
    return Run(process.returncode, out, err)


@pytest.fixture(scope="module")
def alone(taso_gen, tmp_path_factory):
    """What one process writes, and the seconds that it takes."""
    folder = tmp_path_factory.mktemp("alone")
    begin = time.monotonic()
    done = run(taso_gen, "-o", folder / "out.rules", *LONG, "--rejected", folder / "rejected.rules", "--jobs", "1")
    assert done.code == 0, done
    return (folder / "out.rules").read_bytes(), (folder / "rejected.rules").read_bytes(), time.monotonic() - begin


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_any_number_of_ranks_writes_the_same_bytes(taso_gen, tmp_path, alone, ranks):
    out, rejected, report = tmp_path / "out.rules", tmp_path / "rejected.rules", tmp_path / "r.json"
    done = run_ranks(taso_gen, ranks, "-o", out, *LONG, "--rejected", rejected, "--report", report)
    assert done.code == 0, done
    assert (out.read_bytes(), rejected.read_bytes()) == alone[:2]
    assert sorted(os.listdir(tmp_path)) == ["out.rules", "r.json", "rejected.rules"], "no checkpoint is left"
    assert done.err.count("PASSED") == 1, "only the first rank talks"
    uses = json.loads(report.read_text())["run"]["ranks"]
    assert len(uses) == ranks and all((use["sent"] > 0) == (ranks > 1) for use in uses)


def children(pid):
    try:
        return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def workers(process):
    """The processes that do the work: children of those that mpirun started."""
    return [worker for rank in children(process.pid) for worker in children(rank)]


@pytest.mark.parametrize("rank", [0, 1])
def test_a_signal_to_a_supervisor_reaches_the_program(rank, taso_gen, tmp_path):
    process = start(taso_gen, 2, "-o", tmp_path / "out.rules", "--operators", "taso", "--max-ops", "4")
    while process.poll() is None and "taso-gen" not in [name_of(worker) for worker in workers(process)]:
        time.sleep(0.01)
    while process.poll() is None and not (tmp_path / "out.rules.checkpoint").exists():
        time.sleep(0.01)
    ranks = children(process.pid)
    assert [name_of(one) for one in ranks] == ["taso-rank"] * 2
    assert [name_of(one) for one in workers(process)] == ["taso-gen"] * 2, "where people look for them"
    os.kill(ranks[rank], signal.SIGTERM)
    _, err = process.communicate(timeout=100)
    assert process.returncode == 130 and "INTERRUPTED" in err, err


def name_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def test_killed_ranks_end_the_job_and_other_ranks_resume_it(taso_gen, tmp_path, alone):
    choice = random.Random(9)
    out, rejected = tmp_path / "out.rules", tmp_path / "rejected.rules"
    arguments = ["-o", out, *LONG, "--rejected", rejected, "--resume"]
    killed = kept = 0
    for _ in range(8):
        ranks = choice.choice([2, 3, 4])
        process = start(taso_gen, ranks, *arguments)
        time.sleep(choice.uniform(0.2, 1 + alone[2]))
        running = workers(process)
        if running:
            os.kill(choice.choice(running), signal.SIGKILL)
        _, err = process.communicate(timeout=100)
        if process.returncode == 0:  # it finished too soon
            assert (out.read_bytes(), rejected.read_bytes()) == alone[:2]
            out.unlink()
            rejected.unlink()
            continue
        assert process.returncode == 6, err
        assert len(re.findall(r"^taso-gen: error: rank \d was ended by a signal \(Killed\); --resume continues", err,
                              re.MULTILINE)) == err.count("error:") == 1, err
        assert err.count("finishing") <= 1, err
        for written, whole in zip((out, rejected), alone):
            if written.exists():  # it was killed between this and its end
                assert written.read_bytes() == whole, "an output before the end"
                written.unlink()
        left = left_in(tmp_path)
        assert left <= {"out.rules.checkpoint", "out.rules.checkpoint.stages"}
        killed += 1
        kept += "out.rules.checkpoint.stages" in left
    assert killed > 2 and kept > 0
    for finish in (lambda: run_ranks(taso_gen, choice.choice([2, 3]), *arguments),
                   lambda: run(taso_gen, *arguments)):
        done = finish()
        assert done.code == 0, done
        assert (out.read_bytes(), rejected.read_bytes()) == alone[:2]
        assert sorted(os.listdir(tmp_path)) == ["out.rules", "rejected.rules"]


def interrupted_run(taso_gen, out):
    """Kills a rank as soon as a stage is kept; returns the folder of stages."""
    stages = pathlib.Path(f"{out}.checkpoint.stages")
    process = start(taso_gen, 2, "-o", out, *LONG)
    while process.poll() is None and not list(stages.glob("*.stage")):
        time.sleep(0.002)
    for worker in workers(process)[:1]:
        os.kill(worker, signal.SIGKILL)
    process.communicate(timeout=100)
    if process.returncode == 0:
        pytest.skip("it was done before it could be killed")
    assert list(stages.glob("*.stage"))
    return stages


def test_stages_are_used_and_damaged_ones_are_not(taso_gen, tmp_path, alone):
    out = tmp_path / "out.rules"
    stages = interrupted_run(taso_gen, out)
    before = {file: file.read_bytes() for file in stages.glob("*.stage")}
    done = run_ranks(taso_gen, 3, "-o", out, *LONG, "--resume")
    assert done.code == 0 and "stages of an earlier run: " in done.err, done
    assert out.read_bytes() == alone[0] and os.listdir(tmp_path) == ["out.rules"]
    for damage in (lambda good: good[:len(good) // 2], lambda good: good[:-1] + bytes([good[-1] ^ 1])):
        stages.mkdir()
        for file, good in before.items():
            file.write_bytes(damage(good))
        done = run_ranks(taso_gen, 2, "-o", out, *LONG, "--resume")
        assert done.code == 0 and "was damaged, and was done again" in done.err, done
        assert out.read_bytes() == alone[0] and os.listdir(tmp_path) == ["out.rules"]


def test_stages_of_another_run_are_refused(taso_gen, tmp_path):
    out = tmp_path / "out.rules"
    stages = interrupted_run(taso_gen, out)
    (tmp_path / "out.rules.checkpoint").unlink(missing_ok=True)
    done = run_ranks(taso_gen, 2, "-o", out, *FEW, "--resume")
    assert done.code == 2 and "is of another run" in done.err and not out.exists(), done
    assert list(stages.glob("*.stage"))
    done = run_ranks(taso_gen, 2, "-o", out, *FEW)
    assert done.code == 0 and sorted(os.listdir(tmp_path)) == ["out.rules"], done


def test_a_rank_that_fails_ends_the_job(taso_gen, tmp_path):
    (tmp_path / "file").write_text("")
    done = run_ranks(taso_gen, 3, "-o", tmp_path / "file" / "below", *FEW)
    assert done.code == 6 and "file/below" in done.err and done.err.count("error:") == 1, done
    done = run_ranks(taso_gen, 2, "-o", tmp_path / "out.rules", *FEW, "--memory-limit", "1M")
    assert done.code == 6 and done.err.count("memory limit") == 1, done
    done = run_ranks(taso_gen, 2, "-o", tmp_path / "out.rules", "--partial")
    assert done.code == 2 and done.err.count("--partial works on one machine") == 1, done
    done = run_ranks(taso_gen, 3, "-o", tmp_path / "out.rules", "--operators", "relux")
    assert done.code == 2 and done.err.count("did you mean 'relu'?") == done.err.count("error:") == 1, done
    assert os.listdir(tmp_path) == ["file"]


def test_only_the_first_rank_prints_data(taso_gen):
    done = subprocess.run([*MPIRUN, "-n", "3", taso_gen, "--version"], env=ENVIRONMENT, capture_output=True, text=True,
                          timeout=300)
    assert done.returncode == 0 and done.stdout == run(taso_gen, "--version").out, done


def run_started_by(folder, command, taso_gen):
    """Two ranks, each of which a shell starts after this command."""
    script = folder / "start"
    script.write_text(f'#!/bin/sh\n{command}\nexec "$@"\n')
    script.chmod(0o755)
    return subprocess.run([*MPIRUN, "-n", "2", script, taso_gen, "-o", folder / "out.rules", *LONG, "--jobs", "1"],
                          env=ENVIRONMENT, capture_output=True, text=True, timeout=300)


def test_a_rank_that_fails_alone_tells_why(taso_gen, tmp_path):
    done = run_started_by(tmp_path, '[ "$OMPI_COMM_WORLD_RANK" = 0 ] || set -- "$@" --properties none.rules', taso_gen)
    assert done.returncode == 3 and done.stderr.count("none.rules: cannot read") == 1, done


def test_a_full_disk_ends_the_job(taso_gen, tmp_path):
    """The first rank may not write large files, which looks the same."""
    done = run_started_by(tmp_path, "ulimit -f 40", taso_gen)
    assert done.returncode == 6 and "File too large" in done.stderr, done
    assert not (tmp_path / "out.rules").exists()


def test_ranks_that_read_other_files_are_refused(taso_gen, tmp_path, source_folder):
    """The second rank reads a property less."""
    text = (source_folder / "rules" / "properties.rules").read_text()
    blocks = text.split("\n\n")
    last = max(i for i, block in enumerate(blocks) if "\naxiom " in "\n" + block)
    (tmp_path / "0.rules").write_text(text)
    (tmp_path / "1.rules").write_text("\n\n".join(blocks[:last] + blocks[last + 1:]) + "\n")
    script = tmp_path / "start"
    script.write_text('#!/bin/sh\nexec "$1" -o "$2/out.rules" --operators add,relu --max-ops 2 '
                      '--properties "$2/$OMPI_COMM_WORLD_RANK.rules"\n')
    script.chmod(0o755)
    done = subprocess.run([*MPIRUN, "-n", "2", script, taso_gen, tmp_path], env=ENVIRONMENT, capture_output=True,
                          text=True, timeout=300)
    assert done.returncode == 6 and "reads other files" in done.stderr, done
    assert not (tmp_path / "out.rules").exists()


def test_without_the_module_ranks_are_refused(taso_gen, tmp_path):
    """They would all do the whole work, and write the same file."""
    environment = {**ENVIRONMENT, "TASO_MPI_MODULE": str(tmp_path / "none.so")}
    done = subprocess.run([*MPIRUN, "-n", "2", taso_gen, "-o", tmp_path / "out.rules", *FEW], env=environment,
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 6 and "the MPI module cannot be loaded" in done.stderr, done
    assert os.listdir(tmp_path) == []


# --- taso-verify ---

RULES = """taso rules 1

rule relu-twice
  relu(relu(x)) => relu(x)

rule minus-turned-round
  sub(x, y) => sub(y, x)

rule bias-of-groups-forgotten
  add(conv[groups=g](x, w), conv[groups=g](x, v)) => conv[groups=g](x, add(w, v))

axiom relu-again
  relu(relu(x)) = relu(x)

axiom relu-of-any-sum
  relu(add(x, y)) = add(relu(x), relu(y))
"""


@pytest.mark.parametrize("ranks", [2, 3])
def test_ranks_verify_the_same(taso_verify, tmp_path, ranks):
    (tmp_path / "some.rules").write_text(RULES)
    reports, said = [], []
    for program in ([taso_verify], [*MPIRUN, "-n", str(ranks), taso_verify]):
        done = subprocess.run([*program, tmp_path / "some.rules", "--no-cache", "--report", tmp_path / "r.json",
                               "--jobs", "1"], env=ENVIRONMENT, capture_output=True, text=True, timeout=300)
        assert done.returncode == 5, done
        said.append(done.stderr.split("FAILED")[0])
        report = json.loads((tmp_path / "r.json").read_text())
        report.pop("seconds")
        reports.append(report)
    assert reports[0] == reports[1] and said[0] == said[1]
    verdicts = {rule["verdict"] for rule in reports[0]["rules"]}
    assert {"proved", "refuted"} <= verdicts


def test_ranks_of_other_tasks_are_refused(taso_verify, tmp_path):
    (tmp_path / "some.rules").write_text(RULES)
    done = subprocess.run([*MPIRUN, "-n", "2", taso_verify, tmp_path / "some.rules", "--explain", "relu-twice"],
                          env=ENVIRONMENT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 2 and "spread over several ranks" in done.stderr, done

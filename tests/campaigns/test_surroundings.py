"""Every program where something is missing or odd: it writes what it always writes, or says why not (exit 6).

What single programs do about places that they cannot write to is tested in tests/cli.
"""

import os
import pathlib
import resource
import shutil
import subprocess

import jobs
import pytest

# The real clock jumps by hours, forwards and backwards, whenever somebody looks at it.
JUMPING_CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>
static long jump(void) {
  static unsigned state = 1;
  state = state * 1103515245u + 12345u;
  return (long)(state >> 8) % 200000 - 100000;
}
int clock_gettime(clockid_t clock, struct timespec* now) {
  static int (*real)(clockid_t, struct timespec*);
  if (!real) real = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  const int failed = real(clock, now);
  if (!failed && clock == CLOCK_REALTIME) now->tv_sec += jump();
  return failed;
}
time_t time(time_t* at) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (at) *at = now.tv_sec;
  return now.tv_sec;
}
int gettimeofday(struct timeval* now, void* zone) {
  struct timespec exact;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &exact);
  now->tv_sec = exact.tv_sec;
  now->tv_usec = exact.tv_nsec / 1000;
  return 0;
}
"""


@pytest.fixture(scope="module", params=jobs.JOBS)
def bench(request, tmp_path_factory):
    program = request.param
    if program in ("taso-verify", "taso-gen"):
        request.getfixturevalue(program.replace("-", "_"))  # skips in a build without a prover
    return jobs.Bench(jobs.JOBS[program], request.getfixturevalue("programs"), tmp_path_factory.mktemp(program))


@pytest.fixture
def place(bench, request):
    made = bench.place(request.node.name.replace("/", "_"))
    yield made
    shutil.rmtree(made, ignore_errors=True)


def mounted(folder, *options):
    """Mounts a small file system; only root can."""
    if os.geteuid() != 0 or not shutil.which("mount"):
        pytest.skip("needs root to mount a small file system")
    if subprocess.run(["mount", "-t", "tmpfs", *options, "tmpfs", folder], capture_output=True).returncode != 0:
        pytest.skip("mounting is not allowed here")


# --- The same outputs ---


def test_on_a_small_stack(bench, place):
    bench.finish(place, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, 1 << 20)))
    bench.check_whole(place)


@pytest.mark.parametrize("home", [None, "", "/proc/nowhere", "/dev/null", "not made"],
                         ids=["none", "empty", "missing", "file", "not made"])
def test_without_a_home(bench, place, home, tmp_path):
    if home == "not made":  # it could be, and is not
        home = str(tmp_path / "nobody")
    code, said = bench.end(place, environment={"XDG_CACHE_HOME": None, "HOME": home})
    assert not os.listdir(tmp_path), "a home was made"
    if bench.job.in_cache:  # there is no place for what it is asked to keep
        assert code == 6 and len(said.splitlines()) == 1, (code, said)
        return
    assert code == 0, said
    bench.check_whole(place, with_cache=False)


def test_with_decimal_commas(bench, place, tmp_path):
    made = subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", tmp_path / "de_DE.UTF-8"], capture_output=True)
    if not (tmp_path / "de_DE.UTF-8" / "LC_NUMERIC").exists():
        pytest.skip(f"no locale can be made here: {made.stderr}")
    bench.finish(place, environment={"LOCPATH": str(tmp_path), "LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8"})
    bench.check_whole(place)


def test_while_the_clock_jumps(bench, place, tmp_path):
    (tmp_path / "clock.c").write_text(JUMPING_CLOCK)
    compiler = shutil.which("cc")
    if not compiler:
        pytest.skip("needs a C compiler")
    library = tmp_path / "clock.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, tmp_path / "clock.c", "-ldl"], check=True)
    bench.finish(place, environment={"LD_PRELOAD": str(library)})
    bench.check_whole(place)


def test_with_closed_streams(bench, place):
    """The first files that it opens get the numbers of the standard streams: no message may go into them."""
    def closed():
        for stream in (0, 1, 2):
            os.close(stream)
    code, _ = bench.end(place, stdout=None, stderr=None, preexec_fn=closed)
    assert code in (0, 6)
    if code == 0:
        bench.check_whole(place)
    bench.check_pieces(place)


@pytest.mark.parametrize("jobs_given", [1, 4])
def test_at_any_number_of_jobs(bench, place, jobs_given):
    if bench.job.program == "taso-networks":
        pytest.skip("it has one thread")
    bench.finish(place, arguments=["--jobs", jobs_given])
    bench.check_whole(place)


def test_two_at_once_on_one_cache(bench, place):
    for number in range(5):
        other = bench.place(f"other {number}")
        shutil.rmtree(other / "cache")
        (other / "cache").symlink_to(place / "cache")
        first, second = bench.start(place), bench.start(other)
        for process in (first, second):
            _, said = process.communicate(timeout=600)
            assert process.returncode == 0, said
        for one in (place, other):
            bench.check_whole(one)
        shutil.rmtree(other)


# --- The same outputs, or none ---


def test_with_a_closed_pipe(bench):
    for stream in ("stdout", "stderr"):
        place = bench.place(f"closed {stream}", after_another=True)
        reader, writer = os.pipe()
        os.close(reader)
        process = bench.start(place, arguments=["-v"], **{"stderr": subprocess.DEVNULL, stream: writer})
        os.close(writer)
        process.wait(timeout=600)
        bench.check_pieces(place)
        bench.finish(place)
        bench.check_whole(place)


def test_on_a_full_disk(bench):
    """With less and less left over, until the job cannot be done at all."""
    needed = sum(len(content) for content in bench.new.values()) // 1024 + 16
    codes = []
    for share in (0, 0.2, 0.5, 0.8, 1.1, 1.5):
        place = bench.place(f"disk {share}", after_another=True)
        disk = place.with_name(f"{place.name} mounted")
        disk.mkdir()
        mounted(disk, "-o", "size=64m")
        try:
            for part in ("work", "cache"):
                shutil.copytree(place / part, disk / part)
            free = shutil.disk_usage(disk).free - int(share * needed * 1024)
            with open(disk / "ballast", "wb") as file:
                file.write(b"\0" * max(0, free))
            code, said = bench.end(disk)
            assert code in (0, 6), (share, code, said)
            codes.append(code)
            bench.check_pieces(disk)
            (disk / "ballast").unlink()
            bench.finish(disk)
            bench.check_whole(disk)
        finally:
            subprocess.run(["umount", disk], check=True)
    assert codes[0] == 6, codes


def test_in_a_folder_that_cannot_be_written(bench):
    place = bench.place("read-only", after_another=True)
    disk = place.with_name("mounted read-only")
    disk.mkdir()
    mounted(disk)
    try:
        shutil.copytree(place / "work", disk / "work")
        (disk / "cache").symlink_to(place / "cache")
        before = {path.name: path.read_bytes() for path in (disk / "work").iterdir()}
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        code, said = bench.end(disk)
        assert code == 6 and "Read-only file system" in said and len(said.splitlines()) == 1, (code, said)
        assert {path.name: path.read_bytes() for path in (disk / "work").iterdir()} == before
    finally:
        subprocess.run(["umount", disk], check=True)


def test_with_a_limit_on_the_size_of_files(bench):
    largest = max(len(content) for content in bench.new.values())
    for share in (0, 0.3, 0.9):
        place = bench.place(f"limit {share}", after_another=True)
        limit = int(share * largest)
        code, said = bench.end(place,
                               preexec_fn=lambda size=limit: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))
        assert code == 6, (share, code, said)
        bench.check_pieces(place)
        bench.finish(place)
        bench.check_whole(place)


def test_with_a_cache_that_is_no_folder(bench):
    place = bench.place("no cache")
    shutil.rmtree(place / "cache")
    pathlib.Path(place / "cache").write_text("a file")
    code, said = bench.end(place)
    assert code == (6 if bench.job.in_cache else 0), said
    if code == 0:
        bench.check_whole(place, with_cache=False)

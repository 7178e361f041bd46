"""A short form of the campaign in kills.py, and a test that it can fail."""

import jobs
import kills
import pytest


@pytest.fixture
def all_programs(programs, taso_gen, taso_verify):  # which exist only in builds with a prover
    return programs


@pytest.mark.parametrize("name", jobs.JOBS)
def test_killed_at_random_moments(name, all_programs, tmp_path):
    print(kills.Killed(jobs.JOBS[name], all_programs, tmp_path, seed=1).run(5))


@pytest.mark.full
@pytest.mark.parametrize("name", jobs.JOBS)
def test_killed_a_hundred_times(name, all_programs, tmp_path):
    print(kills.Killed(jobs.JOBS[name], all_programs, tmp_path, seed=2).run(100))


def test_damage_is_found(programs, tmp_path):
    bench = jobs.Bench(jobs.JOBS["taso-networks"], programs, tmp_path)
    place = bench.place("here")
    output = place / "work" / "out.onnx"
    output.write_bytes(bench.new["out.onnx"][:-1])
    with pytest.raises(AssertionError, match="neither the old nor the new"):
        bench.check_pieces(place)
    output.write_bytes(bench.old["out.onnx"])
    bench.check_pieces(place)
    with pytest.raises(AssertionError, match="others"):
        bench.check_whole(place)
    output.write_bytes(bench.new["out.onnx"])
    bench.check_whole(place)
    (place / "work" / "forgotten").write_bytes(b"")
    with pytest.raises(AssertionError, match="left behind"):
        bench.check_pieces(place)


def test_weights_of_another_run_are_found(all_programs, tmp_path):
    bench = jobs.Bench(jobs.JOBS["taso-opt"], all_programs, tmp_path)
    place = bench.place("here", after_another=True)
    bench.check_pieces(place)
    (place / "work" / "out.onnx.data").write_bytes(bench.new["out.onnx.data"])
    with pytest.raises(AssertionError, match="of neither run"):
        bench.check_pieces(place)

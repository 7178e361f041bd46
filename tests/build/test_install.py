"""cmake --install gives a tree that another project can build against, and that still works after a move."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def cache():
    folder = pathlib.Path(os.environ.get("TASO_BUILD_FOLDER", ""))
    text = (folder / "CMakeCache.txt").read_text()
    values = dict(re.findall(r"^([A-Za-z0-9_]+):[A-Z]+=(.*)$", text, re.MULTILINE))
    if values.get("TASO_SANITIZE") or values.get("TASO_COVERAGE") == "ON":
        pytest.skip("an instrumented build is not for installing")
    return {"folder": folder, **values}


@pytest.fixture(scope="module")
def prefix(cache, tmp_path_factory):
    # With a space, because real prefixes may have one.
    folder = tmp_path_factory.mktemp("install") / "the prefix"
    run(cache["CMAKE_COMMAND"], "--install", cache["folder"], "--prefix", folder)
    return folder


def test_headers_keep_their_folders(prefix):
    assert (prefix / "include/taso/ops/graph/graph.h").is_file()
    assert (prefix / "include/taso/runtime/gpu/device.h").is_file()
    assert (prefix / "include/taso/taso.h").is_file() and (prefix / "include/taso/session.h").is_file()
    assert {one.parent.name for one in prefix.rglob("*.cpp")} == {"library"}, "only examples are installed as sources"
    assert not (prefix / "include/taso/runtime/gpu/cuda").exists()


def test_no_path_of_the_build_is_installed(prefix, cache, source_folder):
    for file in prefix.rglob("*"):
        if file.suffix in {".cmake", ".h"}:
            text = file.read_text()
            assert str(source_folder) not in text and str(cache["folder"]) not in text, file


def test_data_is_installed(prefix):
    assert (prefix / "share/taso/examples/small_convnet.onnx").is_file()
    assert (prefix / "share/taso/rules/properties.rules").is_file()


def test_another_project_builds_against_it(prefix, cache, source_folder, tmp_path):
    shutil.copytree(source_folder / "tests/build/consumer", tmp_path / "consumer")
    run(cache["CMAKE_COMMAND"], "-S", tmp_path / "consumer", "-B", tmp_path / "out", "-G", cache["CMAKE_GENERATOR"],
        f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_CXX_COMPILER={cache['CMAKE_CXX_COMPILER']}")
    run(cache["CMAKE_COMMAND"], "--build", tmp_path / "out")
    assert "no CUDA (the CUDA module cannot be loaded" in run(tmp_path / "out/consumer")


def configure_consumer(prefix, cache, source_folder, folder, *options):
    return subprocess.run([cache["CMAKE_COMMAND"], "-S", source_folder / "tests/build/consumer", "-B", folder,
                           "-G", cache["CMAKE_GENERATOR"], f"-DCMAKE_PREFIX_PATH={prefix}",
                           f"-DCMAKE_CXX_COMPILER={cache['CMAKE_CXX_COMPILER']}", *options],
                          capture_output=True, text=True)


def test_components_need_only_their_own_packages(prefix, cache, source_folder, tmp_path):
    done = configure_consumer(prefix, cache, source_folder, tmp_path / "out", "-DCONSUMED=ops;gpu",
                              "-DUNNEEDED=Z3;ONNX;Protobuf;CLI11;nlohmann_json")
    assert done.returncode == 0, done.stderr
    run(cache["CMAKE_COMMAND"], "--build", tmp_path / "out")
    done = configure_consumer(prefix, cache, source_folder, tmp_path / "no", "-DCONSUMED=ops;opsss")
    assert done.returncode != 0 and "opsss" in done.stderr


def test_an_installation_for_users_has_the_runtime_alone(cache, source_folder, tmp_path):
    run(cache["CMAKE_COMMAND"], "--install", cache["folder"], "--prefix", tmp_path / "users", "--component", "taso")
    assert not list((tmp_path / "users").rglob("*.a")), "static libraries are for developers"
    assert (tmp_path / "users/include/taso/session.h").is_file()
    assert not (tmp_path / "users/include/taso/ops").exists()
    done = configure_consumer(tmp_path / "users", cache, source_folder, tmp_path / "out", "-DCONSUMED=ops")
    assert done.returncode != 0 and "only the component `runtime`" in done.stderr


def test_manuals_and_completions_have_every_option(prefix):
    places = ("man/man1/{}.1", "bash-completion/completions/{}", "zsh/vendor-completions/_{}",
              "fish/vendor_completions.d/{}.fish")
    for program in sorted((prefix / "bin").glob("taso-*")):
        shown = run(program, "--help").split("Examples:")[0]
        # Names at the beginning of lines are options; descriptions mention others.
        lines = re.findall(r"^  (-\S*)", shown, re.MULTILINE)
        options = {name for line in lines for name in line.split(",")}
        assert {"--help", "--version", "-v"} <= options
        for place in places:
            text = (prefix / "share" / place.format(program.name)).read_text()
            text = re.sub(r"\\f[BIR]", "", text).replace("\\-", "-")
            if place.startswith("fish"):
                text = re.sub(r" -l (?=[a-z])", " --", re.sub(r" -s (?=[a-z])", " -", text))
            there = set(re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", text))
            assert options <= there, f"{place}: {sorted(options - there)} are missing"
    for shell, place in (("bash", "bash-completion/completions"), ("zsh", "zsh/vendor-completions"),
                         ("fish", "fish/vendor_completions.d")):
        for file in (prefix / "share" / place).iterdir() if shutil.which(shell) else ():
            run(shell, "-n", file)


def test_bash_completes_options(prefix):
    script = (f"source '{prefix}/share/bash-completion/completions/taso-opt'; COMP_WORDS=(taso-opt --time); "
              "COMP_CWORD=1; _taso_opt; echo \"${COMPREPLY[@]}\"")
    assert run("bash", "-c", script).split() == ["--time-budget"]


def test_licences_are_installed(prefix):
    assert (prefix / "share/doc/taso/LICENSE").is_file()
    if pathlib.Path("/usr/share/doc/libcli11-dev/copyright").is_file():
        assert (prefix / "share/doc/taso/third-party/libcli11-dev").is_file()


def test_programs_that_run_models_build_against_it(prefix, cache, source_folder, tmp_path):
    shutil.copytree(source_folder / "examples/library", tmp_path / "library")
    run(cache["CMAKE_COMMAND"], "-S", tmp_path / "library", "-B", tmp_path / "out", "-G", cache["CMAKE_GENERATOR"],
        f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_CXX_COMPILER={cache['CMAKE_CXX_COMPILER']}",
        "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror")
    run(cache["CMAKE_COMMAND"], "--build", tmp_path / "out")
    assert re.match(r"class \d+ of 10, score 0\.\d+, on ", run(
        tmp_path / "out/classify", source_folder / "examples/small_convnet.onnx"))
    # The bound is for real machines; this one may be busy.
    assert "200 requests in" in run(
        tmp_path / "out/batcher", source_folder / "examples/small_transformer.onnx", "1000", "2000", "200")
    assert "no.onnx" in subprocess.run([tmp_path / "out/classify", "no.onnx"], capture_output=True, text=True).stderr


def test_programs_run_and_still_do_when_moved(prefix, tmp_path):
    programs = sorted(path.name for path in (prefix / "bin").glob("taso-*"))
    assert "taso-opt" in programs
    moved = tmp_path / "moved elsewhere"
    shutil.copytree(prefix, moved, symlinks=True)
    for place in (prefix, moved):
        for program in programs:
            version = run(place / "bin" / program, "--version", cwd="/")
            assert version.startswith(program)
            assert re.search(r"^properties [0-9a-f]{32} \(\d+\)$", version, re.MULTILINE), "its data is found"
            assert re.search(r"^rules +[0-9a-f]{32} \(\d+\)$", version, re.MULTILINE), "its rules are proved"
        run(place / "bin/taso-opt", place / "share/taso/examples/small_convnet.onnx", "-o", tmp_path / "out.onnx",
            "--force")
        assert (tmp_path / "out.onnx").stat().st_size > 0
        (tmp_path / "out.onnx").unlink()

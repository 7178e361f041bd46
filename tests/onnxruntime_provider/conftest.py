"""The execution provider in ONNX Runtime, registered once."""

import os
import pathlib

import onnxruntime
import pytest

import registered


@pytest.fixture(scope="session")
def library(request, source_folder):
    build = pathlib.Path(os.environ.get("TASO_BUILD_FOLDER", source_folder / "build" / "dev"))
    path = build / "lib" / "libtaso_onnxruntime.so"
    reason = None
    if not path.is_file():
        reason = "the execution provider was not built; scripts/fetch-onnxruntime-headers gets what it needs"
    elif not hasattr(onnxruntime, "register_execution_provider_library"):
        reason = f"ONNX Runtime {onnxruntime.__version__} has no plugin execution providers"
    if reason:
        with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
            print(f"SKIPPED: {reason}")  # ctest reads it
        pytest.skip(reason)
    return path


@pytest.fixture(scope="session")
def provider(library, tmp_path_factory):
    return registered.Provider(library, tmp_path_factory.mktemp("profiles"))

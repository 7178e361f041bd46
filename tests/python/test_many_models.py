"""Hundreds of different models in one process: memory does not grow from one pass over them to the next."""

import pathlib
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "campaigns"))
import motif_model  # noqa: E402
from test_session_threads import resident_bytes  # noqa: E402

SIZE = 2  # of every open dimension


def models(count):
    """As bytes; models with weights in files are left out."""
    found, seed = [], 0
    while len(found) < count:
        if not motif_model.traits_of(seed).external:
            found.append(motif_model.motif_model(seed).SerializeToString())
        seed += 1
    return found


def load_and_run(taso, model, **options):
    """Returns whether it ran: a motif may want other sizes, which is an error as good as any."""
    try:
        session = taso.Session(model, device="cpu", threads=1, log=False, **options)
        inputs = {value.name: np.ones([SIZE if not isinstance(dim, int) else dim for dim in value.shape], value.dtype)
                  for value in session.inputs}
        session.run(inputs)
        return True
    except ValueError:
        return False


def passes(taso, count, limit, **options):
    given = models(count)
    ran = [sum(load_and_run(taso, model, **options) for model in given)]
    before = resident_bytes()
    ran.append(sum(load_and_run(taso, model, **options) for model in given))
    growth = resident_bytes() - before
    print(f"{count} models, {ran[0]} of them run, {before / 1e6:.1f} MB, {growth / 1e6:+.1f} MB in the second pass")
    assert ran[0] == ran[1] > count / 2
    assert growth < limit


def test_models_of_many_kinds_do_not_add_up(taso):
    passes(taso, 60, 8e6)


@pytest.mark.full
def test_five_hundred_models_do_not_add_up(taso):
    passes(taso, 500, 8e6)
    passes(taso, 500, 8e6, optimize=0.05)

"""torch.compile(model, backend="taso"): PyTorch's own exporter makes an ONNX model of each graph, and a session runs it
on PyTorch's current stream, without copies. Options of sessions go through: options={"precision": "tf32"}.

A graph is exported when it is called for the first time, once for each set of shapes. Weights are constants in the
exported model; when they are replaced or written to, it is exported again. Only writes that PyTorch does not count are
not seen: through `data` of a parameter, through NumPy, or to weights made in inference mode. What cannot be exported or
run is run by PyTorch, and a warning says why. So is everything that needs gradients. This needs the packages onnx and
onnxscript.
"""

from __future__ import annotations

import contextlib
import io
import logging
import operator
import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

from .session import Session

MOST_SESSIONS = 8  # for different shapes of one graph


class CannotRun(Exception):
    """Why a graph is left to PyTorch."""


class Frozen(torch.nn.Module):
    """A graph with some of its arguments fixed. Only its tensors are returned."""

    def __init__(self, graph: Callable[..., Any], arguments: Sequence[Any], places: Sequence[int]) -> None:
        super().__init__()
        self.graph = graph
        self.arguments = list(arguments)
        self.places = list(places)
        for place, argument in enumerate(arguments):
            if place not in self.places and isinstance(argument, torch.Tensor):
                self.register_buffer(f"fixed_{place}", argument.detach())

    def forward(self, *given: torch.Tensor) -> tuple[torch.Tensor, ...]:
        arguments = [getattr(self, f"fixed_{place}", argument) for place, argument in enumerate(self.arguments)]
        for place, one in zip(self.places, given):
            arguments[place] = one
        results = self.graph(*arguments)
        return tuple(one for one in results if isinstance(one, torch.Tensor))


def is_weight(example: Any) -> bool:
    """Whether an argument of a graph is a parameter or buffer of a module."""
    return isinstance(example, torch.nn.Parameter) or getattr(example, "_dynamo_static_input_type", None) is not None


#: A number that changes when a tensor is written to, and where it lies: `data` of a tensor may become another one's.
version_of, place_of = operator.attrgetter("_version"), torch.Tensor.data_ptr


def picker(places: Sequence[int]) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """Picks what is at these places. Calls look at hundreds of weights, so that loops of Python would take longer than
    a small network."""
    return operator.itemgetter(*places) if len(places) > 1 else lambda whole: [whole[place] for place in places]


class Made(NamedTuple):
    """A session, the places of its inputs among the arguments of its graph, and the weights that it was made of."""

    session: Session
    places: list[int]
    weights: Sequence[torch.Tensor]
    versioned: list[torch.Tensor]  # those of them that have a version
    versions: list[int]
    addresses: list[int]

    def is_of(self, weights: Sequence[torch.Tensor]) -> bool:
        """Whether these are the same weights, and nobody wrote to them."""
        return len(weights) == len(self.weights) and all(map(operator.is_, weights, self.weights)) and \
            list(map(version_of, self.versioned)) == self.versions and \
            list(map(place_of, self.weights)) == self.addresses


class CompiledGraph:
    """What torch.compile calls instead of a graph."""

    def __init__(self, graph: torch.fx.GraphModule, examples: Sequence[Any], options: dict[str, Any]) -> None:
        self.graph = graph
        self.options = options
        self.weights = [place for place, one in enumerate(examples) if is_weight(one)]
        self.rest = [place for place in range(len(examples)) if place not in set(self.weights)]
        self.pick_weights, self.pick_rest = picker(self.weights), picker(self.rest)
        self.sessions: dict[Any, Made] = {}  # by the shapes of the arguments
        self.trouble: str | None = None
        self.guard = threading.Lock()
        [output] = [node for node in graph.graph.nodes if node.op == "output"]
        self.has_output = [one is not None for one in output.args[0]]
        if not all(one is None or isinstance(one, torch.fx.Node) for one in output.args[0]):
            self.give_up("an output is no tensor")

    def give_up(self, reason: str) -> None:
        self.trouble = reason
        warnings.warn(f"taso: a graph is run by PyTorch: {reason}", stacklevel=2)

    def __call__(self, *arguments: Any) -> Any:
        if self.trouble is not None:
            return self.graph(*arguments)
        if torch.is_grad_enabled() and any(isinstance(one, torch.Tensor) and one.requires_grad for one in arguments):
            self.give_up("gradients are needed; call it in torch.no_grad() or torch.inference_mode()")
            return self.graph(*arguments)
        try:
            found = self.run(arguments)
        except Exception as error:  # whatever it is, PyTorch can run the graph
            self.give_up(f"{type(error).__name__}: {first_line(error)}")
            return self.graph(*arguments)
        if all(self.has_output):
            return tuple(found.values())
        tensors = iter(found.values())
        return tuple(next(tensors) if has_output else None for has_output in self.has_output)

    def run(self, arguments: Sequence[Any]) -> dict[str, Any]:
        shapes = tuple([(one.shape, one.dtype, one.device) if isinstance(one, torch.Tensor) else one
                        for one in self.pick_rest(arguments)])
        made = self.sessions.get(shapes)
        # A GPU computes while the host looks at hundreds of weights. If they changed, the results are not used.
        found = made and made.session.run([arguments[place] for place in made.places])
        weights = self.pick_weights(arguments)
        if made is None or not made.is_of(weights):
            made = self.made_for(shapes, weights, arguments)
            found = made.session.run([arguments[place] for place in made.places])
        return found

    def made_for(self, shapes: Any, weights: Sequence[torch.Tensor], arguments: Sequence[Any]) -> Made:
        """The session for arguments of these shapes."""
        with self.guard:
            if not all(one.is_of(weights) for one in self.sessions.values()):
                self.sessions.clear()
            if shapes not in self.sessions:
                while len(self.sessions) >= MOST_SESSIONS:
                    self.sessions.pop(next(iter(self.sessions)))
                versioned = [one for one in weights if not one.is_inference()]
                versions = list(map(version_of, versioned))
                addresses = list(map(place_of, weights))
                self.sessions[shapes] = Made(*self.make_session(arguments), weights, versioned, versions, addresses)
            return self.sessions[shapes]

    def make_session(self, arguments: Sequence[Any]) -> tuple[Session, list[int]]:
        places = [place for place in self.rest if isinstance(arguments[place], torch.Tensor)]
        given = tuple(arguments[place].detach() for place in places)
        devices = {one.device for one in arguments if isinstance(one, torch.Tensor)}
        if not places:
            raise CannotRun("it has no tensors but weights")
        if len(devices) != 1:
            raise CannotRun("its tensors are on several devices" if devices else "it has no tensors")
        [device] = devices
        if device.type not in ("cpu", "cuda"):
            raise CannotRun(f"its tensors are on {device}")
        with torch.no_grad():
            program = torch.export.export(Frozen(self.graph, [plain(one) for one in arguments], places), given)
            # Only without operators that write in place does the signature say which inputs change.
            program = program.run_decompositions({})
            signature = program.graph_signature
            if signature.user_inputs_to_mutate or signature.buffers_to_mutate:
                raise CannotRun("it changes its inputs")
            check_results(self.graph(*arguments), arguments)
            with quiet():
                exported = torch.onnx.export(program, dynamo=True, verbose=False)
        chosen = {"device": "cpu" if device.type == "cpu" else f"cuda:{device.index or 0}", **self.options}
        session = Session(exported.model_proto, **chosen)
        # The exporter drops inputs that are not used.
        by_name = dict(zip(signature.user_inputs, places))
        if len(session.outputs) != sum(self.has_output):
            raise CannotRun("the exported model has other outputs")
        return session, [by_name[value.name] for value in session.inputs]


def check_results(results: Sequence[Any], arguments: Sequence[Any]) -> None:
    """Sessions write each result into memory of its own. What shares memory is left to PyTorch."""
    seen = {one.untyped_storage().data_ptr() for one in arguments if isinstance(one, torch.Tensor)}
    for one in results:
        if not isinstance(one, torch.Tensor):
            continue
        if one.numel() > 0 and one.untyped_storage().data_ptr() in seen:
            raise CannotRun("an output shares memory with an input or another output")
        if not one.is_contiguous():
            raise CannotRun("an output is not contiguous")
        seen.add(one.untyped_storage().data_ptr())


def plain(argument: Any) -> Any:
    """A size that the graph takes as an argument is a number here."""
    return int(argument) if isinstance(argument, torch.SymInt) else argument


def first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [""])[0]


@contextlib.contextmanager
def quiet() -> Any:
    """The exporter prints and logs much."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "onnxscript")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels):
            logger.setLevel(level)


def taso(graph: torch.fx.GraphModule, examples: Sequence[Any], *, options: dict[str, Any] | None = None,
         **_: Any) -> Callable[..., Any]:
    """The backend."""
    return CompiledGraph(graph, examples, options or {})  # which torch.compile does not trace

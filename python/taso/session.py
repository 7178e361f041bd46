"""Sessions: a model that is loaded and runs."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from . import _taso, arrays, cuda_libraries
from .errors import ArgumentError, ArgumentTypeError

LOGGER = logging.getLogger("taso")
LEVELS = {0: logging.WARNING, 1: logging.INFO, 2: logging.DEBUG}


class Value(NamedTuple):
    """An input or output of a model."""

    name: str
    #: The element type; None for types that arrays cannot have (text, sequences).
    dtype: np.dtype | None
    #: The size of each axis; unknown sizes have a name ("batch", "2*length") or are None. None if the rank is unknown.
    shape: tuple[int | str | None, ...] | None
    #: Whether it is an input that the model has a default for: it may be left out.
    optional: bool = False


def model_argument(model: Any) -> str | bytes:
    """The path or the bytes of a model."""
    if isinstance(model, (bytes, bytearray, memoryview)):
        return bytes(model)
    if hasattr(model, "SerializeToString"):  # onnx.ModelProto
        return model.SerializeToString()
    try:
        path = os.fspath(model)
    except TypeError:
        raise ArgumentTypeError(
            f"a model is a path, bytes or an onnx.ModelProto, not {type(model).__name__}") from None
    os.stat(path)  # FileNotFoundError is clearer than any text of ours
    return os.fsdecode(path)


def to_logger(level: int, text: str) -> None:
    LOGGER.log(LEVELS.get(level, logging.DEBUG), "%s", text)


class Session:
    """A model that is loaded and runs on a GPU or on the host.

    session = taso.Session("model.onnx")
    scores = session(image=picture)["scores"]

    model        a path of a model or an engine file, bytes, or an onnx.ModelProto
    device       "auto" (a GPU if there is one that can run the model), "cpu", "cuda", "cuda:1"
    precision    how a GPU computes float32: "float32", "tf32", "float16", "bfloat16"; None: "float32", or what the
                 engine file says
    optimize     the seconds that a search for a faster model may take while the model is loaded. It searches for what
                 is fast on a GPU, by default on an NVIDIA H200; the result may be no faster on a CPU
    threads      on the host; 0: all processors
    measure      measure kernels that have no recorded price while the model is loaded
    log          a function of a level (0 warning, 1 information, 2 detail) and a text; None: Python's logger "taso";
                 False: nobody
    folder       where a model that is given as bytes has its external weights
    past_capacity  the rows of the caches that a decoder's growing past is run with; the input "past_length" then says
                 how many are filled. None: the past grows. See "A past that grows" in runtime/using.md
    options      others of the library: prices, streams, trust, plans, memory (see taso.h)

    Several threads may call one session. The GIL is free while it loads and runs. Ctrl-C ends a search at once.
    """

    def __init__(self, model: Any, *, device: str = "auto", precision: str | None = None, optimize: float = 0,
                 threads: int = 0, measure: bool = False, log: Callable[[int, str], None] | bool | None = None,
                 folder: str | os.PathLike | None = None, past_capacity: int | None = None, **options: Any) -> None:
        chosen = {"device": device, "precision": precision, "optimize": optimize, "threads": threads,
                  "measure": measure, "past_capacity": past_capacity, **options}
        texts = [(name, str(int(value)) if isinstance(value, bool) else str(value)) for name, value in chosen.items()
                 if value is not None]
        if log is None or log is True:
            log = to_logger
        if device != "cpu":
            cuda_libraries.load()
        self._session = _taso.Session(model_argument(model), None if folder is None else os.fspath(folder), texts,
                                      log or None)
        self._inputs, self._input_types = values(self._session, are_outputs=False)
        self._outputs, self._output_types = values(self._session, are_outputs=True)
        self._positions = {value.name: number for number, value in enumerate(self._inputs)}
        self._places = {value.name: number for number, value in enumerate(self._outputs)}
        self._is_on_device = self._session.is_on_device()
        self._device_number = int(device.partition(":")[2] or 0)
        self._knows_tensors: bool | None = None

    @property
    def inputs(self) -> list[Value]:
        return list(self._inputs)

    @property
    def outputs(self) -> list[Value]:
        return list(self._outputs)

    @property
    def device(self) -> str:
        """What it runs on, for people: "CPU", "NVIDIA H200"."""
        return self._session.device()

    @property
    def is_on_device(self) -> bool:
        """Whether it runs on a GPU."""
        return self._is_on_device

    def report(self) -> dict[str, Any]:
        """Everything about the session: device, operators, plans."""
        return json.loads(self._session.report())

    def save_engine(self, path: str | os.PathLike) -> None:
        """Writes an engine file: the model, and everything that was found out about running it here, for the shapes
        that it has run or was warmed up with. A session of it loads quickly."""
        name = os.fsdecode(path)
        if "\0" in name:
            raise ArgumentError("a path has no zero byte")
        self._session.save_engine(name)

    def warm_up(self, shapes: Mapping[str, Sequence[int]] | Sequence[Sequence[int]]) -> None:
        """Makes the plan for inputs of these shapes now, instead of in the first run."""
        self._session.warm_up([numbers(shape) for shape in self._in_order(shapes)])

    def infer(self, shapes: Mapping[str, Sequence[int]] | Sequence[Sequence[int]]) -> dict[str, Any]:
        """The shapes of outputs for inputs of these shapes. A size that depends on the content of inputs is None."""
        found = self._session.infer([numbers(shape) for shape in self._in_order(shapes)])
        return {value.name: None if shape is None else tuple(None if size < 0 else size for size in shape)
                for value, shape in zip(self._outputs, found)}

    def __call__(self, /, *positional: Any, out: Any = None, stream: Any = None, **named: Any) -> dict[str, Any]:
        """Runs the model: session(x, y) or session(x=…, y=…). The result is a dictionary of all outputs, in the order
        of the model. `run` tells more, and takes inputs named "out" or "stream"."""
        for name, given in (("out", out), ("stream", stream)):
            if given is not None and name in self._positions and self._positions[name] >= len(positional):
                raise ArgumentError(f"the input '{name}' has the name of an argument: call run({{'{name}': …}})")
        if positional and named:
            first = dict(zip(self._positions, self._in_order(positional) if len(positional) > len(self._inputs)
                             else positional))
            for name in named:
                if name in first:
                    raise ArgumentError(f"the input '{name}' is given twice")
            named = {**first, **named}
        return self.run(named if named or not positional else positional, out=out, stream=stream)

    def run(self, inputs: Mapping[str, Any] | Sequence[Any], *, out: Any = None,
            stream: Any = None) -> dict[str, Any]:
        """Runs the model with inputs by name or in the order of the model, and returns its outputs by name. Optional
        inputs may be left out, or be None: the model then takes its own.

        Arrays of NumPy give arrays of NumPy; arrays that are not contiguous are copied. Tensors of PyTorch give tensors
        of PyTorch. Memory on the session's GPU is used without copies: tensors of PyTorch, and arrays with `__dlpack__`
        or `__cuda_array_interface__`. The run is ordered after the work on `stream` (default: PyTorch's current stream
        for its tensors, else the default stream), and the call returns before it has ended.

        `out` is memory for outputs: a dictionary by name, or a sequence in the order of the model, with None for those
        without. It may be larger than the output, and it may be memory of an input. If the inputs are on a GPU, but are
        no tensors of PyTorch, outputs are copied to the host, unless `out` has memory for them.
        """
        given = self._in_order(inputs)
        tensors = []
        if sys.modules.get("torch") is not None:  # None blocks an import
            if self._knows_tensors is None:
                self._knows_tensors = self._learn_tensors()
            if self._knows_tensors:
                made = self._session.run_tensors(given, None if out is None else self._given_outputs(out),
                                                 None if stream is None else arrays.stream_number(stream))
                if made is not None:
                    return made
            tensors = [value for value in given if arrays.is_tensor(value)]
        if stream is None and tensors and tensors[0].is_cuda:
            number = arrays.current_stream_number(tensors[0].get_device())
        else:
            number = arrays.stream_number(stream)
        kept: list[Any] = []
        taken = [self._input(value, kind, one, number, kept)
                 for value, kind, one in zip(self._inputs, self._input_types, given)]
        memory = self._given_outputs(out)
        if tensors:
            self._make_tensors(memory, tensors, given)
        results = self._session.run(taken, [one if one is None else self._output(place, one, number, kept)
                                            for place, one in enumerate(memory)], number)
        made = {}
        for place, (value, result) in enumerate(zip(self._outputs, results)):
            if memory[place] is not None:
                made[value.name] = shaped(memory[place], result)
            else:
                made[value.name] = self._result(place, result, tensors)
        return made

    def _learn_tensors(self) -> bool:
        """Whether plain tensors of PyTorch take the short way, without steps of Python: a run may be as short as they
        are. Asked for at the first run beside PyTorch."""
        if not hasattr(getattr(sys.modules["torch"], "Tensor", None), "__dlpack_c_exchange_api__"):
            return False
        types = [arrays.tensor_type(number) for number in self._output_types]
        number = self._device_number if self._is_on_device else -1
        return None not in types and self._session.learn_tensors(
            sys.modules["torch"], self._input_types, list(self._places), self._output_types, types,
            arrays.torch_device(number), number)

    def _listed(self) -> str:
        return ", ".join(f"'{value.name}'" for value in self._inputs) or "none"

    def _in_order(self, inputs: Any) -> list[Any]:
        """Something for every input, in the order of the model; None for those left out."""
        if type(inputs) in (list, tuple) and len(inputs) == len(self._inputs):
            return list(inputs)  # the usual case, quickly
        if isinstance(inputs, Mapping):
            for name in inputs:
                if name not in self._positions:
                    raise ArgumentError(f"there is no input '{name}'; the inputs are {self._listed()}")
            missing = [value.name for value in self._inputs if value.name not in inputs and not value.optional]
            if missing:
                raise ArgumentError(f"the input '{missing[0]}' is missing; the inputs are {self._listed()}")
            return [inputs.get(value.name) for value in self._inputs]
        if isinstance(inputs, (np.ndarray, str, bytes)) or not isinstance(inputs, Sequence):
            raise ArgumentTypeError("inputs are a dictionary or a list of arrays")
        rest = self._inputs[len(inputs):]
        if len(inputs) > len(self._inputs) or not all(value.optional for value in rest):
            raise ArgumentError(f"the model has {len(self._inputs)} inputs ({self._listed()}), not {len(inputs)}")
        return [*inputs, *[None] * len(rest)]

    def _input(self, value: Value, number: int, given: Any, stream: int, kept: list[Any]) -> Any:
        """What the extension takes for an input: an array of NumPy, memory, or None if it is left out."""
        if given is None and value.optional:
            return None
        if value.dtype is None:
            raise ArgumentTypeError(f"the input '{value.name}' has a type that cannot be run")
        if type(given) is np.ndarray and given.dtype == value.dtype and number != arrays.BFLOAT16:
            return given if given.flags.c_contiguous else np.ascontiguousarray(given)  # the usual case, quickly
        if arrays.is_tensor(given):
            self._check_device(value, given.device.index if given.is_cuda else None)
            given = given.detach().resolve_neg()
            if not given.is_contiguous():
                given = given.contiguous()
            kept.append(given)
            memory = arrays.tensor_memory(given)
        elif arrays.is_on_device(given):
            memory, owner = arrays.device_memory(given, stream)
            kept.append(owner)
        else:
            return self._array(value, number, given, kept)
        if memory[2] != number:
            raise wrong_type("input", value, arrays.NAMES[number], arrays.NAMES[memory[2]])
        return memory

    def _array(self, value: Value, number: int, given: Any, kept: list[Any]) -> Any:
        if not isinstance(given, (np.ndarray, np.generic)):
            if hasattr(given, "__array__") or hasattr(given, "__dlpack__"):
                given = np.asarray(given) if hasattr(given, "__array__") else np.from_dlpack(given)
            else:  # numbers and lists
                try:
                    if given is None:
                        raise TypeError("it is None")
                    given = np.asarray(given, dtype=value.dtype)
                except (TypeError, ValueError, OverflowError) as error:
                    raise ArgumentTypeError(f"the input '{value.name}' is no array of {value.dtype}: {error}") from None
        is_bits = number == arrays.BFLOAT16 and given.dtype == np.uint16
        if given.dtype != value.dtype and not is_bits:
            raise wrong_type("input", value, arrays.NAMES[number], str(given.dtype))
        array = np.asarray(given, order="C")
        if number != arrays.BFLOAT16:
            return array
        kept.append(array)
        return (array.ctypes.data, array.nbytes, number, False, array.shape)

    def _given_outputs(self, out: Any) -> list[Any]:
        """The caller's memory for each output, or None."""
        if out is None:
            return [None] * len(self._outputs)
        if isinstance(out, Mapping):
            for name in out:
                if name not in self._places:
                    names = ", ".join(f"'{value.name}'" for value in self._outputs)
                    raise ArgumentError(f"there is no output '{name}'; the outputs are {names}")
            return [out.get(value.name) for value in self._outputs]
        if arrays.is_tensor(out) or isinstance(out, (str, bytes, np.ndarray)) or not isinstance(out, Sequence):
            raise ArgumentTypeError("`out` is a dictionary or a list of arrays")
        if len(out) != len(self._outputs):
            raise ArgumentError(f"the model has {len(self._outputs)} outputs, not {len(out)}")
        return list(out)

    def _output(self, place: int, given: Any, stream: int, kept: list[Any]) -> Any:
        """The memory that the caller gave for an output."""
        value, number = self._outputs[place], self._output_types[place]
        if arrays.is_tensor(given):
            self._check_device(value, given.device.index if given.is_cuda else None)
            if not given.is_contiguous() or given.is_neg():
                raise ArgumentError(f"the memory for the output '{value.name}' is not contiguous, or a negated view")
            memory = arrays.tensor_memory(given)
            if memory[0] == 0 and memory[1] > 0:
                raise ArgumentError(f"the tensor for the output '{value.name}' has no memory")
        elif isinstance(given, np.ndarray):
            if not given.flags.c_contiguous or not given.flags.writeable:
                raise ArgumentError(f"the memory for the output '{value.name}' is not contiguous, or read-only")
            is_bits = number == arrays.BFLOAT16 and given.dtype == np.uint16
            if given.dtype != value.dtype and not is_bits:
                raise wrong_type("output", value, arrays.NAMES.get(number, "?"), str(given.dtype))
            if number != arrays.BFLOAT16 and given.size > 0:
                return given
            memory = (given.ctypes.data, given.nbytes, number, False, given.shape)
        elif arrays.is_on_device(given):
            memory, owner = arrays.device_memory(given, stream)
            kept.append(owner)
        else:
            raise ArgumentTypeError(f"the memory for the output '{value.name}' is no array")
        if memory[2] != number:
            raise wrong_type("output", value, arrays.NAMES.get(number, "?"), arrays.NAMES[memory[2]])
        if memory[1] == 0:  # null stands for memory of the library
            return (1, 0, number, memory[3], memory[4])
        return memory

    def _check_device(self, value: Value, index: int | None) -> None:
        if index is None or not self._is_on_device:
            return  # the library says what is wrong
        if index != self._device_number:
            raise ArgumentError(f"'{value.name}' is on cuda:{index}, but the session is on cuda:{self._device_number}")

    def _make_tensors(self, memory: list[Any], tensors: list[Any], given: list[Any]) -> None:
        """Allocates the outputs as tensors of PyTorch, as far as their shapes are known before the run."""
        import torch
        device = next((one.device for one in tensors if one.is_cuda), None)
        if device is None:
            device = torch.device("cpu")
        elif not self._is_on_device:
            return  # refused by the library
        if all(one is not None for one in memory):
            return
        shapes = self._session.infer([None if one is None else list(one.shape if hasattr(one, "shape") else
                                                                  np.shape(one)) for one in given])
        for place, shape in enumerate(shapes):
            if memory[place] is None and shape is not None and min(shape, default=0) >= 0:
                memory[place] = arrays.new_tensor(shape, self._output_types[place], device)

    def _result(self, place: int, array: np.ndarray, tensors: list[Any]) -> Any:
        """An output that the library allocated on the host."""
        if tensors:
            import torch
            tensor = torch.from_numpy(array)
            if self._output_types[place] == arrays.BFLOAT16:
                tensor = tensor.view(torch.bfloat16)
            device = next((one.device for one in tensors if one.is_cuda), None)
            return tensor if device is None else tensor.to(device)
        if self._output_types[place] == arrays.BFLOAT16:
            return array.view(self._outputs[place].dtype)
        return array


def values(session: _taso.Session, are_outputs: bool) -> tuple[list[Value], list[int]]:
    """Inputs or outputs, and the numbers of their types."""
    all_of_them = session.values(are_outputs)
    return [Value(name, arrays.dtype_of(number), shape, optional) for name, number, shape, optional in all_of_them], \
        [number for _, number, _, _ in all_of_them]


def numbers(shape: Sequence[int] | None) -> list[int] | None:
    return None if shape is None else list(map(int, shape))


def wrong_type(what: str, value: Value, expected: str, given: str) -> ArgumentTypeError:
    return ArgumentTypeError(f"the {what} '{value.name}' has the type {expected}, not {given}")


def shaped(memory: Any, shape: tuple[int, ...]) -> Any:
    """The caller's memory as an array of the output's shape; it may be larger."""
    if not hasattr(memory, "reshape") or tuple(memory.shape) == tuple(shape):
        return memory
    count = 1
    for size in shape:
        count *= size
    return memory.reshape(-1)[:count].reshape(shape)

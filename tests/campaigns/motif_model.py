"""Random models from motifs of real networks, by seed: how they are combined, and the sizes they run at."""

import pathlib
import random
import sys
from dataclasses import dataclass

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "onnx"))

from motif_images import ImageMotifs  # noqa: E402
from motif_parts import Parts  # noqa: E402
from motif_sequences import SequenceMotifs  # noqa: E402
from random_models import RandomModel  # noqa: E402
from random_values import FLOAT, Value  # noqa: E402

BASE_SIZES = {"N": 2, "L": 5, "H": 6, "W": 8, "P": 3}
OTHER_SIZES = [{"N": 1, "L": 1, "H": 4, "W": 4, "P": 0}, {"N": 3, "L": 9, "H": 7, "W": 5, "P": 2}]


@dataclass(frozen=True)
class Traits:
    """What is drawn before a model is made, because options depend on it."""

    element: int
    open: tuple  # names of the dimensions that the model leaves open
    external: bool  # the weights are in a separate file


def traits_of(seed):
    draw = random.Random(f"traits {seed}")
    element = draw.choices([FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE], [0.7, 0.18, 0.12])[0]
    names = tuple(sorted(draw.choice([(), (), ("N",), ("N", "L"), ("N", "L", "P"), ("L", "P"), ("N", "H", "W", "L")])))
    return Traits(element, names, draw.random() < 0.1)


class MotifModel(RandomModel, Parts, ImageMotifs, SequenceMotifs):
    IMAGE = [ImageMotifs.split_and_concat, ImageMotifs.split_and_concat, ImageMotifs.group_norm,
             ImageMotifs.squeeze_excite, ImageMotifs.channel_shuffle, ImageMotifs.dilated_branches,
             ImageMotifs.grouped_branches, ImageMotifs.depthwise_separable, ImageMotifs.inception,
             ImageMotifs.residual, ImageMotifs.pool_pyramid, ImageMotifs.pixel_shuffle, ImageMotifs.focus,
             ImageMotifs.feature_pyramid, ImageMotifs.parallel_scales, ImageMotifs.large_batch_norm,
             ImageMotifs.quantised_convolution, ImageMotifs.head, ImageMotifs.attention_over_channels,
             ImageMotifs.scaled_by_size]
    SEQUENCE = [SequenceMotifs.layer_norm, SequenceMotifs.rms_norm, SequenceMotifs.mlp, SequenceMotifs.low_rank,
                SequenceMotifs.large_factors, SequenceMotifs.product_chain, SequenceMotifs.parallel_products,
                SequenceMotifs.attention, SequenceMotifs.attention, SequenceMotifs.lstm,
                SequenceMotifs.dynamically_quantised, SequenceMotifs.quantised_product, SequenceMotifs.tied_steps,
                SequenceMotifs.grouped_query, SequenceMotifs.embedded, SequenceMotifs.shared_norm,
                SequenceMotifs.sliced_pairs, SequenceMotifs.cut_before, SequenceMotifs.own_function,
                SequenceMotifs.chosen]

    def __init__(self, seed, traits=None):
        self.traits = traits or traits_of(seed)
        self.open = self.traits.open
        self.sizes_are_open = bool(self.open)
        self.may_quantise = self.traits.element == FLOAT
        self.is_plain_sequence = True
        self.sequences, self.images, self.wanted, self.used_motifs = [], [], [], []
        self.shared_weights = {}
        super().__init__(seed)

    def take_input(self, element, declared):
        """An input. Dimensions are numbers or names; only names of open dimensions stay."""
        shape = [BASE_SIZES.get(dim, dim) for dim in declared]
        declared = [dim if dim in self.open else number for dim, number in zip(declared, shape)]
        name = self.fresh("x")
        self.inputs.append(helper.make_tensor_value_info(name, element, declared))
        return self.note(Value(name, element, shape))

    def want(self, value):
        """Makes the value an output, unless it is inside a branch."""
        if self.depth == 0:
            self.wanted.append(value)

    def motif(self, kinds, x):
        kind = self.random.choice(kinds)
        y = kind(self, x)
        if y is not None:
            self.used_motifs.append(kind.__name__)
        return y

    def sequence_motif(self, x):
        return self.motif(self.SEQUENCE, x)

    def build(self):
        way = self.random.choice(["image", "image", "sequence", "sequence", "both"])
        if way != "sequence":
            self.images.append(self.take_input(FLOAT, ("N", self.random.choice([2, 4, 4, 8]), "H", "W")))
        if way != "image":
            self.sequences.append(self.take_input(FLOAT, ("N", "L", self.random.choice([4, 8, 8]))))
        wanted, tries = self.random.choice([1, 1, 2, 2, 3, 4, 6]), 0
        while len(self.used_motifs) < wanted and tries < 50:
            tries += 1
            pairs = ((self.images, self.IMAGE), (self.sequences, self.SEQUENCE))
            known, kinds = self.random.choice([pair for pair in pairs if pair[0]])
            x = known[-1] if self.chance(0.7) else self.random.choice(known)
            y = self.motif(kinds, x)
            if y is not None:
                fitting = [v for v in known if v.shape == y.shape and v is not y]
                known.append(self.plus(y, self.random.choice(fitting)) if fitting and self.chance(0.2) else y)
        # Random steps assume some sizes, for which taso-opt's check would search long among images of any size.
        for _ in range(0 if "H" in self.open else self.random.choice([0, 0, 0, 1, 2, 4])):
            self.step()

    def model(self):
        model = super().model()
        graph = model.graph
        shapes = {value.name: value.shape for value in self.values}
        known = {output.name for output in graph.output}
        for value in self.wanted:
            if value.name not in known:
                known.add(value.name)
                graph.output.append(helper.make_tensor_value_info(value.name, value.element, [None] * value.rank))
        for output in graph.output:  # ONNX's checker needs a shape, even if its numbers are unknown
            if not output.type.tensor_type.HasField("shape"):
                source = next((node.input[0] for node in graph.node
                               if node.op_type == "Identity" and node.output[0] == output.name), "")
                for _ in shapes.get(output.name, shapes.get(source, ())):
                    output.type.tensor_type.shape.dim.add()
                output.type.tensor_type.shape.SetInParent()
        return with_element(model, self.traits.element)


ARRAY = {TensorProto.FLOAT16: numpy.float16, FLOAT: numpy.float32, TensorProto.DOUBLE: numpy.float64}


def with_element(model, wanted, given=FLOAT):
    """The model with all numbers of element type `given` converted; the scales of Resize stay."""
    if wanted == given:
        return model
    result = onnx.ModelProto()
    result.CopyFrom(model)
    kept = set()

    def find_kept(nodes):
        for node in nodes:
            if node.op_type in ("Resize", "Upsample"):
                kept.update(node.input[1:])
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    find_kept(attribute.g.node)

    def change_tensor(tensor):
        if tensor.data_type == given and tensor.name not in kept:
            changed = numpy_helper.from_array(numpy_helper.to_array(tensor).astype(ARRAY[wanted]), tensor.name)
            tensor.CopyFrom(changed)

    def change_value(value):
        if value.type.tensor_type.elem_type == given and value.name not in kept:
            value.type.tensor_type.elem_type = wanted

    def change_nodes(nodes):
        for node in nodes:
            if node.op_type == "Constant" and node.output[0] in kept:
                continue
            for attribute in node.attribute:
                if attribute.HasField("t"):
                    change_tensor(attribute.t)
                if attribute.HasField("g"):
                    change_graph(attribute.g)
                if node.op_type == "Cast" and attribute.name == "to" and attribute.i == given:
                    attribute.i = wanted

    def change_graph(graph):
        change_nodes(graph.node)
        for tensor in graph.initializer:
            change_tensor(tensor)
        for value in [*graph.input, *graph.output, *graph.value_info]:
            change_value(value)

    find_kept(result.graph.node)
    change_graph(result.graph)
    for function in result.functions:
        change_nodes(function.node)
    return result


def motif_model(seed, traits=None):
    return MotifModel(seed, traits).model()

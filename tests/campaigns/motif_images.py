"""Motifs of convolutional networks. Each takes an image (batch, channels, height, width) and returns one, or None."""

import numpy

from random_values import FLOAT, INT64


class ImageMotifs:
    def split_and_concat(self, x):
        """C2f of YOLOv8: halves, blocks after the last one, and a Concat of all."""
        half = self.random.choice([2, 4])
        parts = self.pieces(self.layer(x, 2 * half), 1, [half, half]) if self.chance(0.7) else \
            self.pieces(self.layer(x, half + 3), 1, [half, 1, 2])
        for _ in range(self.random.randint(1, 3)):
            inner = self.layer(parts[-1], parts[-1].shape[1], 3)
            parts.append(self.plus(inner, parts[-1]) if self.chance(0.5) else inner)
        if self.chance(0.2):
            parts.append(self.random.choice(parts))
        return self.layer(self.joined(parts, 1), x.shape[1])

    def group_norm(self, x):
        groups = self.random.choice([g for g in (1, 2, 4) if x.shape[1] % g == 0])
        wide = self.reshaped(x, [0, groups, -1], (x.shape[0], groups, int(numpy.prod(x.shape[1:])) // groups))
        ones, zeros = (self.constant(numpy.full(groups, n, numpy.float32)) for n in (1, 0))
        y = self.reshaped_like(self.node("InstanceNormalization", [wide, ones, zeros], wide.shape, epsilon=1e-5), x)
        y = self.times(y, self.positive(x.shape[1], 1, 1))
        return self.plus(y, self.weight(x.shape[1], 1, 1))

    def squeeze_excite(self, x):
        channels = x.shape[1]
        pooled = self.node("GlobalAveragePool", [x], x.shape[:2] + (1, 1))
        inner = self.convolved(pooled, max(1, channels // 2))
        inner = self.node("Relu", [inner], inner.shape)
        gate = self.convolved(inner, channels)
        gate = self.node("Sigmoid", [gate], gate.shape) if self.chance(0.5) else \
            self.node("HardSigmoid", [gate], gate.shape, alpha=0.2)
        return self.times(x, gate)

    def channel_shuffle(self, x):
        channels = x.shape[1]
        if channels % 2:
            return None
        if self.chance(0.4):
            x = self.convolved(x, channels, groups=2)
        if self.sizes_are_open or self.chance(0.5):
            rest = int(numpy.prod(x.shape[2:]))
            parts = self.reshaped(x, [0, 2, channels // 2, -1], (x.shape[0], 2, channels // 2, rest))
            return self.reshaped_like(self.turned(parts, 0, 2, 1, 3), x)
        parts = self.reshaped(x, [x.shape[0], 2, channels // 2, *x.shape[2:]],
                              (x.shape[0], 2, channels // 2, *x.shape[2:]))
        return self.reshaped(self.turned(parts, 0, 2, 1, 3, 4), list(x.shape), x.shape)

    def dilated_branches(self, x):
        channels = self.random.choice([2, 4])
        groups = self.random.choice([1, 1, 2]) if x.shape[1] % 2 == 0 else 1
        branches = [self.convolved(x, channels, 3, dilation=d, groups=groups, bias=self.chance(0.3))
                    for d in self.random.sample([1, 1, 2, 3], self.random.randint(2, 3))]
        if self.chance(0.5):
            return self.activated(self.joined(branches, 1))
        total = branches[0]
        for branch in branches[1:]:
            total = self.plus(total, branch)
        return total

    def grouped_branches(self, x):
        """Convolutions of one input with different groups, kernels and strides."""
        channels = x.shape[1]
        fitting = [g for g in (1, 2, 4, channels) if channels % g == 0]
        kernels = [1, 3, (1, 3), (3, 1)]
        branches = [self.convolved(x, channels, self.random.choice(kernels), groups=self.random.choice(fitting))
                    for _ in range(self.random.randint(2, 4))]
        if self.chance(0.3):
            return self.node("Sum", branches, branches[0].shape)
        return self.layer(self.joined(branches, 1), channels)

    def depthwise_separable(self, x):
        wide = self.layer(x, 2 * x.shape[1]) if self.chance(0.5) else x
        deep = self.batch_normalised(self.convolved(wide, wide.shape[1], 3, groups=wide.shape[1], bias=False))
        narrow = self.batch_normalised(self.convolved(self.clipped(deep, 0, 6), x.shape[1], bias=False))
        return self.plus(narrow, x) if self.chance(0.6) else narrow

    def inception(self, x):
        branches = [self.layer(x, self.random.randint(1, 3)), self.layer(self.layer(x, 2), 3, 3)]
        if self.chance(0.6):
            branches.append(self.layer(self.layer(x, 2), 2, self.random.choice([5, (1, 3), (3, 1)])))
        if self.chance(0.6):
            pooled = self.node(self.random.choice(["AveragePool", "MaxPool"]), [x], x.shape, kernel_shape=[3, 3],
                               pads=[1] * 4, strides=[1, 1])
            branches.append(self.layer(pooled, 2))
        self.random.shuffle(branches)
        y = self.joined(branches, 1)
        return y if y.shape[1] % 2 == 0 else self.layer(y, 4)

    def residual(self, x):
        inner = self.layer(self.layer(x, x.shape[1], 3), x.shape[1], self.random.choice([1, 3]))
        side = self.convolved(x, x.shape[1]) if self.chance(0.3) else x
        return self.node("Relu", [self.plus(inner, side)], x.shape)

    def pool_pyramid(self, x):
        """SPPF: a chain of pools, all of them in one Concat."""
        parts = [self.layer(x, 2)]
        for _ in range(3):
            parts.append(self.node("MaxPool", [parts[-1]], parts[-1].shape, kernel_shape=[3, 3], pads=[1] * 4,
                                   strides=[1, 1]))
        return self.layer(self.joined(parts, 1), x.shape[1])

    def pixel_shuffle(self, x):
        wide = self.convolved(x, 4 * 2)
        n, _, h, w = wide.shape
        if self.opset >= 11 and (self.sizes_are_open or self.chance(0.5)):
            mode = self.random.choice(["DCR", "CRD"])
            y = self.node("DepthToSpace", [wide], (n, 2, 2 * h, 2 * w), blocksize=2, mode=mode)
        elif self.sizes_are_open:
            return None
        else:
            parts = self.reshaped(wide, [n, 2, 2, 2, h, w], (n, 2, 2, 2, h, w))
            y = self.reshaped(self.turned(parts, 0, 1, 4, 2, 5, 3), [n, 2, 2 * h, 2 * w], (n, 2, 2 * h, 2 * w))
        return self.layer(y, x.shape[1], 3, stride=2)

    def focus(self, x):
        """The first layer of YOLOv5: every second pixel, four times, in one Concat."""
        if self.opset < 10 or self.sizes_are_open or x.shape[2] % 2 or x.shape[3] % 2 or x.shape[2] < 4:
            return None
        far = 2**31 - 1
        parts = [self.slice(self.slice(x, 2, a, far, 2), 3, b, far, 2) for a, b in ((0, 0), (1, 0), (0, 1), (1, 1))]
        return self.upsampled(self.layer(self.joined(parts, 1), x.shape[1], 3))

    def upsampled(self, x):
        if self.opset < 11:
            return x
        scales = self.constant(numpy.array([1, 1, 2, 2], numpy.float32), overridable=False)
        empty = self.constant(numpy.zeros(0, numpy.float32), overridable=False)
        return self.node("Resize", [x, empty, scales], x.shape[:2] + (2 * x.shape[2], 2 * x.shape[3]), mode="nearest",
                         coordinate_transformation_mode="asymmetric", nearest_mode="floor")

    def feature_pyramid(self, x):
        if self.opset < 11 or x.shape[2] % 2 or x.shape[3] % 2 or self.sizes_are_open:
            return None
        small = self.layer(x, x.shape[1], 3, stride=2)
        return self.layer(self.joined([self.upsampled(small), self.layer(x, 2)], 1), x.shape[1])

    def parallel_scales(self, x):
        """Affine steps around a convolution, as in exported preprocessing."""
        y = self.node("Sub", [x, self.weight(1, x.shape[1], 1, 1)], x.shape)
        y = self.convolved(self.node("Div", [y, self.positive(1, x.shape[1], 1, 1)], x.shape), x.shape[1], 3)
        return self.plus(self.times(y, self.positive(1, x.shape[1], 1, 1)), self.weight(1, x.shape[1], 1, 1))

    def large_batch_norm(self, x):
        """A batch normalisation whose factor makes the weights of the preceding convolution infinite in float16."""
        weight = self.constant(self.numbers.uniform(50, 300, (4, x.shape[1], 1, 1)).astype(numpy.float32))
        y = self.node("Conv", [self.times(x, self.scalar(0.002)), weight], (x.shape[0], 4, *x.shape[2:]))
        operands = [y, self.constant(numpy.full(4, 20, numpy.float32)), self.weight(4), self.weight(4),
                    self.constant(numpy.full(4, 0.002, numpy.float32))]
        return self.node("BatchNormalization", operands, y.shape, epsilon=1e-3)

    def quantised_convolution(self, x):
        if self.opset < 10 or not self.may_quantise:
            return None
        q, scale, zero = self.quantised(x)
        weight, weight_scale, weight_zero = self.quantised_weight(4, x.shape[1], 3, 3)
        shape = (x.shape[0], 4, *x.shape[2:])
        if self.chance(0.5):
            wide, kernel = self.dequantised(q, scale, zero), self.dequantised(weight, weight_scale, weight_zero)
            y = self.node("Conv", [wide, kernel], shape, pads=[1] * 4)
            return self.dequantised(*self.quantised(y)) if self.chance(0.5) else y
        y_scale, y_zero = self.scalar(0.1), self.constant(numpy.array(128, numpy.uint8), overridable=False)
        operands = [q, scale, zero, weight, weight_scale, weight_zero, y_scale, y_zero]
        y = self.node("QLinearConv", operands, shape, pads=[1] * 4)
        return self.dequantised(y, y_scale, y_zero)

    def head(self, x):
        """Pool, flatten, Gemm: outputs of a classifier. Returns the image unchanged."""
        pooled = self.node("GlobalAveragePool", [x], x.shape[:2] + (1, 1))
        flat = self.node("Flatten", [pooled], x.shape[:2], axis=1)
        operands = [flat, self.weight(x.shape[1], 3), self.weight(3)]
        self.node("Gemm", operands, (x.shape[0], 3), alpha=self.random.choice([1.0, 0.5]))
        if self.chance(0.5):
            self.node("Softmax", [self.linear(flat, 3)], (x.shape[0], 3), axis=1)
        return x

    def attention_over_channels(self, x):
        """Positions as a sequence, as at the start of a vision transformer."""
        n, channels, height, width = x.shape
        flat = self.reshaped(x, [0, channels, -1], (n, channels, height * width))
        self.is_plain_sequence = False  # its length is a product, which no input can declare
        y = self.sequence_motif(self.turned(flat, 0, 2, 1))
        self.is_plain_sequence = True
        if y is None or y.shape != (n, height * width, channels):
            return None
        return self.reshaped_like(self.turned(y, 0, 2, 1), x)

    def scaled_by_size(self, x):
        """A mean whose divisor is computed from the shape."""
        if self.opset < 13:
            return None
        area = self.node("Mul", [self.extent(x, 2), self.extent(x, 3)], (1,), INT64)
        total = self.reduced("ReduceSum", self.reduced("ReduceSum", x, 2), 3)
        mean = self.node("Div", [total, self.node("Cast", [area], (1,), FLOAT, to=FLOAT)], total.shape)
        return self.node("Sub", [x, mean], x.shape)

# SPDX-License-Identifier: Apache-2.0
"""The dense models of exported steps, forward and backward in float64, with the standard error of fp32 beside each
number (docs/bounds.md, "Dense models"): a value may be off by CONFIDENCE of these."""
import numpy as np

U = 2.0**-24
CONFIDENCE = 8.0
FLUSHED = 2.0**-126


class Uncertain:
    """Values, and the squares of their standard errors."""

    def __init__(self, value, square=None):
        self.value = np.asarray(value, dtype=np.float64)
        self.square = np.zeros_like(self.value) if square is None else square

    def bound(self):
        return CONFIDENCE * np.sqrt(self.square)

    @property
    def T(self):
        return Uncertain(self.value.T, self.square.T)

    def __getitem__(self, key):
        return Uncertain(self.value[key], self.square[key])

    def __matmul__(self, other):
        a, b = self.value, other.value
        value, terms = a @ b, a.shape[-1]
        brought = self.square @ b**2 + a**2 @ other.square
        return Uncertain(value, brought + U**2 * terms * (value**2 + a**2 @ b**2) + terms * FLUSHED**2)

    def __add__(self, other):
        value = self.value + other.value
        return Uncertain(value, self.square + other.square + (U * value)**2)

    def __mul__(self, other):
        value = self.value * other.value
        return Uncertain(value, (self.value**2 * other.square + other.value**2 * self.square) + (U * value)**2)


class Fp32:
    """Products as fp32 computes them: a b, and sums over samples g^T x."""
    ALIKE = False  # no error is the same in all samples

    @staticmethod
    def times(a, b):
        return a @ b

    @staticmethod
    def summed(gradient, x):
        return gradient.T @ x


class Tf32:
    """Products of operands that are cut to TF32, which are smaller by up to 2^-10 each, to one side (docs/bounds.md). What
    weights lose is the same in all samples: sums over n of these count squares n times."""
    ALIKE = True

    @staticmethod
    def times(a, b):
        product = Tf32.cut(a) @ Tf32.cut(b)
        return Uncertain(product.value, product.square + (2.0**-10 * product.value)**2)

    @staticmethod
    def summed(gradient, x):
        product = Tf32.times(gradient.T, x)
        return Uncertain(product.value, len(gradient.value) * product.square)

    @staticmethod
    def cut(x):
        return Uncertain(x.value, x.square + (2.0**-9 * x.value)**2)


MATHS = {"fp32": Fp32, "tf32": Tf32}


def side_by_side(parts):
    return Uncertain(*(np.concatenate(x, axis=1) for x in ([p.value for p in parts], [p.square for p in parts])))


def relu(z):
    bound = z.bound()
    return Uncertain(np.maximum(z.value, 0), np.where((z.value > 0) | (-z.value < bound), z.square, 0.0))


def relu_backward(y, g):
    """Where the output may be 0 or not, the whole gradient is uncertain."""
    sure = (y.square == 0) | (y.value > y.bound())
    open_ = y.value > 0
    return Uncertain(np.where(open_, g.value, 0.0),
                     np.where(sure, np.where(open_, g.square, 0.0), g.square + g.value**2))


def mlp(layers, x, linear_end, math=Fp32):
    outputs = [x]
    for number, (weight, bias) in enumerate(layers):
        z = math.times(outputs[-1], weight.T) + bias[:, 0]
        outputs.append(z if linear_end and number + 1 == len(layers) else relu(z))
    return outputs


def mlp_backward(layers, outputs, gradient, linear_end, math):
    """The gradient of the input, and of weight and bias of each layer."""
    of_layers = []
    for number in reversed(range(len(layers))):
        if not (linear_end and number + 1 == len(layers)):
            gradient = relu_backward(outputs[number + 1], gradient)
        ones = Uncertain(np.ones((len(gradient.value), 1)))
        of_layers = [math.summed(gradient, outputs[number]), math.summed(gradient, ones)] + of_layers
        gradient = math.times(gradient, layers[number][0])
    return gradient, of_layers


def cross(layers, x0, math):
    xs, ts, vs = [x0], [], []
    for v, w, bias in layers:
        vs.append(math.times(xs[-1], v.T))
        ts.append(math.times(vs[-1], w.T) + bias[:, 0])
        xs.append(x0 * ts[-1] + xs[-1])
    return xs, ts, vs


def cross_backward(layers, kept, gradient, math):
    xs, ts, vs = kept
    of_x0, of_layers = Uncertain(np.zeros_like(xs[0].value)), []
    for (v, w, _), x, t, low in reversed(list(zip(layers, xs, ts, vs))):
        of_x0 = of_x0 + gradient * t
        dt = gradient * xs[0]
        dv, ones = math.times(dt, w), Uncertain(np.ones((len(dt.value), 1)))
        of_layers = [math.summed(dv, x), math.summed(dt, low), math.summed(dt, ones)] + of_layers
        gradient = gradient + math.times(dv, v)
    return of_x0 + gradient, of_layers


def windows(values, stride):
    """[values, means]: what each value counts for each mean over `stride` neighbours, what is missing at the ends half
    at the beginning."""
    count = -(-values // stride)
    before = (count * stride - values) // 2
    matrix = np.zeros((values, count))
    for w in range(count):
        first, last = max(w * stride - before, 0), min((w + 1) * stride - before, values)
        matrix[first:last, w] = 1.0 / (last - first)
    return Uncertain(matrix)


def dots(vectors):
    """e_i . e_j, j < i, (1,0) (2,0) (2,1) .., and the pairs: none of one vector."""
    pairs = [(i, j) for i in range(len(vectors)) for j in range(i)]
    samples, width = vectors[0].value.shape
    ones = Uncertain(np.ones((width, 1)))
    return side_by_side([Uncertain(np.zeros((samples, 0))), *((vectors[i] * vectors[j]) @ ones for i, j in pairs)]), pairs


def dots_backward(vectors, pairs, gradient):
    result = [Uncertain(np.zeros_like(v.value)) for v in vectors]
    for p, (i, j) in enumerate(pairs):
        share = gradient[:, p:p + 1]
        result[i], result[j] = result[i] + share * vectors[j], result[j] + share * vectors[i]
    return result


def split(whole, widths):
    edges = np.cumsum([0, *widths])
    return [whole[:, a:b] for a, b in zip(edges, edges[1:])]


def loss_of(z, labels, math):
    """Mean binary cross entropy, its standard error, and its gradient by the logits z [batch, 1]."""
    value, label, batch = z.value, labels[:, None], len(labels)
    small = np.exp(-np.abs(value))
    s = np.where(value < 0, small, 1.0) / (1 + small)
    terms = np.maximum(value, 0) - label * value + np.log1p(small)
    of_terms = (s - label)**2 * z.square + (4 * U * (np.abs(value) + np.log(2)))**2
    mean = terms.sum() / batch
    error = np.sqrt(of_terms.sum() * (batch if math.ALIKE else 1)) / batch + U * np.sqrt(batch) * mean
    slope = Uncertain(s - label, (s * (1 - s))**2 * z.square + (4 * U * s)**2 + FLUSHED**2)
    return mean, error, slope * Uncertain(np.array(1.0 / batch))


class Model:
    """kind, layers and widths of the vectors; blocks: parameters by name, in their order; math: of its products."""

    def __init__(self, spec, widths, numerical, blocks, math="fp32"):
        self.spec, self.widths, self.math = spec, widths, MATHS[math]
        self.blocks = [Uncertain(block.astype(np.float64)) for block in blocks]
        bottom, top = 2 * len(spec["bottom_mlp"]), 2 * len(spec["top_mlp"])
        pairs = list(zip(self.blocks[::2], self.blocks[1::2]))
        self.bottom = pairs[:bottom // 2]
        self.top = [tuple(self.blocks[len(blocks) - top + 2 * i:][:2]) for i in range(top // 2)]
        middle = self.blocks[bottom:len(blocks) - top]
        self.cross = [tuple(middle[i:i + 3]) for i in range(0, len(middle), 3)]
        self.lead_width = spec["bottom_mlp"][-1] if bottom else numerical

    def run(self, vectors, numerical, labels):
        """logits, (loss, its error), gradients of the vectors, gradients of the blocks."""
        kind = self.spec["kind"]
        vectors = [Uncertain(v.astype(np.float64)) for v in vectors]
        below = mlp(self.bottom, Uncertain(numerical.astype(np.float64)), False, self.math)
        lead = below[-1]
        dotted = ([lead] if self.bottom else []) + vectors
        if kind == "dlrm":
            products, pairs = dots(dotted)
            x = side_by_side([lead, products])
        elif kind == "mlp":
            means = windows(sum(self.widths), self.spec["stride"])
            x = side_by_side([side_by_side(vectors) @ means, lead])
        else:
            kept = cross(self.cross, side_by_side([lead] + vectors), self.math)
            x = kept[0][-1]
        above = mlp(self.top, x, True, self.math)
        loss, error, gradient = loss_of(above[-1], labels.astype(np.float64), self.math)
        of_x, of_top = mlp_backward(self.top, above, gradient, True, self.math)
        of_cross = []
        if kind == "dlrm":
            of_lead, of_products = split(of_x, [self.lead_width, len(pairs)])
            of_vectors = dots_backward(dotted, pairs, of_products)
            if self.bottom:
                of_lead, of_vectors = of_lead + of_vectors[0], of_vectors[1:]
        elif kind == "mlp":
            of_means, of_lead = split(of_x, [x.value.shape[1] - self.lead_width, self.lead_width])
            of_vectors = split(of_means @ means.T, self.widths)
        else:
            of_x0, of_cross = cross_backward(self.cross, kept, of_x, self.math)
            of_lead, *of_vectors = split(of_x0, [self.lead_width, *self.widths])
        _, of_bottom = mlp_backward(self.bottom, below, of_lead, False, self.math)
        return above[-1], (loss, error), of_vectors, of_bottom + of_cross + of_top


def exact_sums(terms):
    """[rows] whether fp32 gives the sum of the terms of a row in any order: every partial sum is a multiple of the lowest
    bit of any of them, by an integer of 24 bits."""
    mantissas, exponents = np.frexp(terms)
    integers = (mantissas * 2.0**53).astype(np.int64)
    finest = np.where(terms == 0, np.inf, np.ldexp((integers & -integers).astype(np.float64), exponents - 53)).min(axis=1)
    return (np.abs(terms).sum(axis=1) <= 2.0**24 * finest) & (finest >= 2.0**-149)


def run_exact(vectors, weights, labels):
    """The exact head: logits with their bounds, loss and gradients of the vectors."""
    terms = np.concatenate(vectors, axis=1).astype(np.float64) * np.concatenate(weights)
    z, count = terms.sum(axis=1), terms.shape[1]
    bound = np.where(exact_sums(terms), 0.0, count * 2.0**-24 * np.abs(terms).sum(axis=1))
    loss = np.sum(np.maximum(z, 0) - labels * z)
    slope = (z > 0) - labels.astype(np.float64)
    return (z, bound), loss, [slope[:, None] * w for w in weights]

# SPDX-License-Identifier: Apache-2.0
"""The optimizers and value types of reference/ in NumPy: for verify-export, and apart from the program it judges."""
import numpy as np

U = 2.0**-24  # fp32 rounds by at most this, relative


class Rounded:
    """Arrays of numbers that fp32 computes, and a bound of what their roundings do: 2 U of every result."""
    __array_ufunc__ = None  # array * Rounded is ours

    def __init__(self, value, error=0.0):
        self.value, self.error = np.asarray(value, dtype=np.float64), np.asarray(error, dtype=np.float64)

    @staticmethod
    def of(x):
        return x if isinstance(x, Rounded) else Rounded(x)

    @staticmethod
    def result(value, error):
        return Rounded(value, error + 2 * U * np.abs(value))

    def __neg__(self):
        return Rounded(-self.value, self.error)

    def __add__(self, other):
        other = Rounded.of(other)
        exact = (self.value == 0) & (self.error == 0) | (other.value == 0) & (other.error == 0)
        total = Rounded.result(self.value + other.value, self.error + other.error)
        return Rounded(total.value, np.where(exact, self.error + other.error, total.error))

    def __sub__(self, other):
        return self + -Rounded.of(other)

    def __rsub__(self, other):
        return -self + other

    def __mul__(self, other):
        other = Rounded.of(other)
        return Rounded.result(self.value * other.value,
                              np.abs(self.value) * other.error + self.error * (np.abs(other.value) + other.error))

    def __truediv__(self, other):
        other = Rounded.of(other)
        quotient = self.value / other.value
        return Rounded.result(quotient, (self.error + np.abs(quotient) * other.error) /
                              np.maximum(np.abs(other.value) - other.error, 0))

    __radd__, __rmul__ = __add__, __mul__

    def root(self):
        root = np.sqrt(self.value)
        below, above = (np.sqrt(np.maximum(self.value + e, 0)) for e in (-self.error, self.error))
        return Rounded.result(root, np.maximum(root - below, above - root))


def sqrt(x):
    return x.root() if isinstance(x, Rounded) else np.sqrt(x)


def value_of(x):
    return x.value if isinstance(x, Rounded) else x


def choose(condition, a, b):
    """np.where for both kinds of numbers."""
    if not isinstance(a, Rounded) and not isinstance(b, Rounded):
        return np.where(condition, a, b)
    a, b = Rounded.of(a), Rounded.of(b)
    return Rounded(np.where(condition, a.value, b.value), np.where(condition, a.error, b.error))


class Optimizer:
    """The first step, t = 1, of the rows of a table. Arrays are [rows, dim], or [rows, 1] for state of the whole row."""
    #        vectors and scalars of state, hyperparameters
    KINDS = {"sgd": (0, 0, ""), "momentum": (1, 0, "momentum"), "nesterov": (1, 0, "momentum"),
             "adagrad": (1, 0, "epsilon"), "rowwise_adagrad": (0, 1, "epsilon"), "rmsprop": (1, 0, "epsilon decay"),
             "adam": (2, 0, "epsilon beta1 beta2"), "rowwise_adam": (1, 1, "epsilon beta1 beta2"),
             "ftrl": (2, 0, "l1 l2 beta"), "lamb": (2, 0, "epsilon beta1 beta2"), "none": (0, 0, "")}

    def __init__(self, spec):
        """Throws ValueError: one line of what is wrong with the description."""
        self.name = spec.get("name")
        if self.name not in self.KINDS:
            raise ValueError(f"unknown optimizer {self.name!r}; valid: {', '.join(self.KINDS)}")
        self.vectors, self.scalars, keys = self.KINDS[self.name]
        spec = {"weight_decay": 0.0, "weight_decay_mode": "l2"} | spec
        for key in ["learning_rate", "weight_decay", *keys.split()]:
            try:  # the program holds its constants in fp32
                setattr(self, key, float(np.float32(spec[key])))
            except (KeyError, TypeError, ValueError):
                raise ValueError(f"the optimizer {self.name} needs a number {key}") from None
        self.decoupled = self.weight_decay != 0 and spec["weight_decay_mode"] == "decoupled"
        self.has_row_sums = self.name in ("rowwise_adagrad", "rowwise_adam", "lamb")

    def width(self, dim):
        return self.vectors * dim + self.scalars

    def gradient(self, w, g):
        return g if self.weight_decay == 0 or self.decoupled else g + self.weight_decay * w

    def row_terms(self, w, g, state):
        """What each column adds to the sums over its row: g^2, or w^2 and r^2."""
        g = self.gradient(w, g)
        if self.name != "lamb":
            return [g * g]
        r = self.direction(w, *self.moments(g, state, g * g))
        return [w * w, r * r]

    def step(self, w, g, state, sums):
        """Value and state after the step; sums over the row, [rows, 1]."""
        before, lr, dim = w, self.learning_rate, np.shape(value_of(w))[1]
        g = self.gradient(w, g)
        if self.name == "none":
            return w, []
        if self.name == "sgd":
            w, state = w - lr * g, []
        elif self.name in ("momentum", "nesterov"):
            m = self.momentum * state[0] - lr * g
            w = w + (m if self.name == "momentum" else m + self.momentum * (m - state[0]))
            state = [m]
        elif self.name in ("adagrad", "rowwise_adagrad", "rmsprop"):
            square = sums[0] / dim if self.name == "rowwise_adagrad" else g * g
            s = self.decay * state[0] + (1 - self.decay) * square if self.name == "rmsprop" else state[0] + square
            w, state = w - lr * g / (sqrt(s) + self.epsilon), [s]
        elif self.name == "ftrl":
            w, state = self.ftrl(w, g, *state)
        else:
            state = self.moments(g, state, sums[0] / dim if self.name == "rowwise_adam" else g * g)
            step = lr * self.direction(w, *state)
            if self.name == "lamb":
                scaled = (value_of(sums[0]) > 0) & (value_of(sums[1]) > 0)
                step = choose(scaled, sqrt(sums[0]) / sqrt(choose(scaled, sums[1], 1.0)), 1.0) * step
            w = w - step
        if self.decoupled and self.name != "lamb":
            w = w - lr * self.weight_decay * before
        return w, state

    def moments(self, g, state, square):
        m, v = state
        return [self.beta1 * m + (1 - self.beta1) * g, self.beta2 * v + (1 - self.beta2) * square]

    def direction(self, w, m, v):
        r = m / (1 - self.beta1) / (sqrt(v / (1 - self.beta2)) + self.epsilon)
        return r + self.weight_decay * w if self.name == "lamb" and self.decoupled else r

    def ftrl(self, w, g, n, z):
        e, lr = 2.0**-23, self.learning_rate
        grown = n + g * g
        z = z + (g - (sqrt(grown + e) - sqrt(n + e)) / lr * w)
        inside = np.abs(value_of(z)) <= self.l1
        threshold = np.where(value_of(z) > 0, self.l1, -self.l1)
        return choose(inside, 0.0, (threshold - z) / ((self.beta + sqrt(grown + e)) / lr + self.l2)), [grown, z]


def bounded_step(optimizer, w, g, errors, state):
    """(value, bound) and a list of (state, bound) after the step of rows w with gradients g that may be off by errors.
    Deviations at the corners of gradient and of the sums over the other columns, and the roundings of the step."""
    def own(gradient):
        return optimizer.row_terms(w, gradient, state) if optimizer.has_row_sums else []

    terms, rounded_terms = own(g), own(Rounded(g))
    low, high = own(g - errors), own(g + errors)
    deviations = [np.maximum(np.abs(a - t), np.abs(b - t)) for a, b, t in zip(low, high, terms)]
    sums = [t.sum(axis=1, keepdims=True) for t in terms]
    rounded_sums = [Rounded(s, (Rounded.of(t).error + np.zeros_like(g)).sum(axis=1, keepdims=True) + g.shape[1] * U * s)
                    for s, t in zip(sums, rounded_terms)]
    value, after = optimizer.step(w, g, state, sums)
    rounded_value, rounded_state = optimizer.step(Rounded(w), Rounded(g), [Rounded(s) for s in state], rounded_sums)

    value_change, state_change = np.zeros_like(g), [np.zeros_like(s) for s in state]
    for gradient, parts in ((g - errors, low), (g + errors, high)):
        for sign in (-1.0, 1.0):
            others = [np.maximum(s - t + sign * (d.sum(axis=1, keepdims=True) - d), 0) + part
                      for s, t, d, part in zip(sums, terms, deviations, parts)]
            there, state_there = optimizer.step(w, gradient, state, others)
            value_change = np.maximum(value_change, np.abs(there - value))
            for k, (a, b) in enumerate(zip(state_there, after)):
                change = np.abs(a - b)
                if state[k].shape[1] == 1:
                    change = change.max(axis=1, keepdims=True)
                state_change[k] = np.maximum(state_change[k], change)
    margin = 1 + 2.0**-10  # the roundings of the corners
    return ((value, margin * value_change + rounded_value.error),
            [(s, margin * change + r.error) for s, change, r in zip(after, state_change, rounded_state)])


# Value types -----------------------------------------------------------------------------------------------------------

VALUE_TYPES = ("fp32", "fp16", "bf16", "int8")


def neighbours(x, value_type):
    """The values of fp16 or bf16 next to float32 x: the one not farther from 0 and the one not nearer, both finite."""
    if value_type == "fp16":
        x = np.clip(x, np.float32(-65504), np.float32(65504))
        near = x.astype(np.float16)
        toward = np.where(np.abs(near.astype(np.float32)) > np.abs(x), np.nextafter(near, np.float16(0)), near)
        away = np.nextafter(toward, np.copysign(np.float16(np.inf), toward))
        return toward.astype(np.float32), np.where(toward == x, toward, away).astype(np.float32)
    bits = x.astype(np.float32).view(np.uint32)
    toward = bits & np.uint32(0xFFFF0000)
    away = np.where((toward != bits) & (toward & 0x7FFFFFFF != 0x7F7F0000), toward + np.uint32(0x10000), toward)
    return toward.view(np.float32), away.astype(np.uint32).view(np.float32)


def rounded_to(x, value_type):
    """float32 x to the nearest value of the type, ties to the even one."""
    if value_type not in ("fp16", "bf16"):
        return x
    if value_type == "fp16":
        return np.clip(x, np.float32(-65504), np.float32(65504)).astype(np.float16).astype(np.float32)
    toward, away = neighbours(x, value_type)
    below, above = np.abs(x.astype(np.float64) - toward), np.abs(x.astype(np.float64) - away)
    even = (toward.view(np.uint32) >> np.uint32(16)) % 2 == 0
    return np.where((below < above) | (below == above) & even, toward, away)


def stored(value, bound, value_type, stochastic):
    """(value, bound) as a table of that type stores it: what the ends of value +- bound may be rounded to."""
    if value_type not in ("fp16", "bf16"):
        return value, bound
    low, high = ((value - bound).astype(np.float32), (value + bound).astype(np.float32))
    low = np.where(bound > 0, np.nextafter(low, np.float32(-np.inf)), low)
    high = np.where(bound > 0, np.nextafter(high, np.float32(np.inf)), high)
    if stochastic:
        low, high = (np.where((x < 0) == down, *reversed(neighbours(x, value_type)))
                     for x, down in ((low, True), (high, False)))
    else:
        low, high = rounded_to(low, value_type), rounded_to(high, value_type)
    centre = rounded_to(value.astype(np.float32), value_type).astype(np.float64)
    return centre, np.maximum(high - centre, centre - low)

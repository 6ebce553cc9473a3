# SPDX-License-Identifier: Apache-2.0
"""The peers' side of scripts/peers/tensor_train: a JSON request per line on stdin, {"ms", "calls"} on stdout. Two ways
to train a tensor-train table with PyTorch on a CPU; both are given the gradient of the pooled vectors."""
import numpy
import torch

from worker import draw_ids, peak, serve, timed, versions

BATCHES = 8
FEWEST_CALLS = 3
LEARNING_RATE = 2.0**-10
SHUFFLE = 2654435761  # a prime larger than any number of rows, as in kernels/bench/problem.cpp


def ids_of(random, case):
    """One batch, shuffled where the case says so."""
    rows = case["rows"][0]
    ids = draw_ids(random, rows, case["batch"] * case["hotness"][0], case["alpha"])
    return ids * SHUFFLE % rows if case["shuffled"] else ids


class Table:
    """Cores [p_t, r_t q_t r_(t+1)] of three, and how ids become digits."""

    def __init__(self, case, seed):
        generator = torch.Generator().manual_seed(seed)
        self.p, self.q, self.r = case["p"], case["q"], case["r"]
        self.cores = [torch.randn(self.p[t], self.r[t] * self.q[t] * self.r[t + 1], generator=generator) * 0.1
                      for t in range(3)]

    def slices(self, t, digits):
        return self.cores[t][digits].view(-1, self.r[t], self.q[t] * self.r[t + 1])

    def step(self, gradients):
        """SGD over all of the cores."""
        for core, gradient in zip(self.cores, gradients):
            core.sub_(gradient, alpha=LEARNING_RATE)


class Chunks(Table):
    """FBTT-Embedding's way: chunks of 1,000 lookups, a small product for each lookup and stage, sums into bags; backward
    with the products made again, and slices added to a dense gradient of every core."""
    chunk = 1000

    def digits(self, ids):
        return ids // (self.p[1] * self.p[2]), ids // self.p[2] % self.p[1], ids % self.p[2]

    def forward(self, ids, bags, samples):
        pooled = torch.zeros(samples, self.q[0] * self.q[1] * self.q[2])
        for some, bag in zip(ids.split(self.chunk), bags.split(self.chunk)):
            digits = self.digits(some)
            x = self.slices(0, digits[0]).view(len(some), self.q[0], self.r[1])
            x = torch.bmm(x, self.slices(1, digits[1])).view(len(some), -1, self.r[2])
            x = torch.bmm(x, self.slices(2, digits[2]))
            pooled.index_add_(0, bag, x.view(len(some), -1))
        return pooled

    def backward(self, ids, bags, gradient):
        gradients = [torch.zeros_like(core) for core in self.cores]
        for some, bag in zip(ids.split(self.chunk), bags.split(self.chunk)):
            n = len(some)
            digits = self.digits(some)
            x0 = self.slices(0, digits[0]).view(n, self.q[0], self.r[1])
            g1, g2 = self.slices(1, digits[1]), self.slices(2, digits[2])
            x1 = torch.bmm(x0, g1).view(n, -1, self.r[2])
            d2 = gradient[bag].view(n, -1, self.q[2])
            gradients[2].index_add_(0, digits[2], torch.bmm(x1.transpose(1, 2), d2).view(n, -1))
            d1 = torch.bmm(d2, g2.transpose(1, 2)).view(n, self.q[0], -1)
            gradients[1].index_add_(0, digits[1], torch.bmm(x0.transpose(1, 2), d1).view(n, -1))
            gradients[0].index_add_(0, digits[0], torch.bmm(d1, g1.transpose(1, 2)).view(n, -1))
        self.step(gradients)


def sum_groups(values, keys, groups):
    """[groups, columns]: sums of the rows of `values` with equal keys, by embedding_bag, which is faster than index_add_."""
    order = torch.argsort(keys)
    offsets = torch.cumsum(torch.bincount(keys, minlength=groups), 0)
    offsets = torch.cat([torch.zeros(1, dtype=torch.int64), offsets])
    return torch.nn.functional.embedding_bag(order, values, offsets, mode="sum", include_last_offset=True)


class Groups(Table):
    """Every distinct row once, every distinct (i0, i1) once: those sorted by i1, and for each i1 one product of its slice
    with all that meet it; then a batched product over the distinct rows. Backward likewise."""

    def forward(self, ids, bags, samples):
        self.rows, self.row_of = torch.unique(ids, return_inverse=True)
        self.i2 = self.rows % self.p[2]
        prefixes, prefix_of = torch.unique_consecutive(self.rows // self.p[2], return_inverse=True)
        i1, order = torch.sort(prefixes % self.p[1])
        place = torch.empty_like(order)
        place[order] = torch.arange(len(order))
        self.prefix_of = place[prefix_of]
        self.i0 = (prefixes // self.p[1])[order]
        found, self.counts = torch.unique_consecutive(i1, return_counts=True)
        self.found, self.counts = found.tolist(), (self.counts * self.q[0]).tolist()
        self.x0 = self.cores[0][self.i0].view(-1, self.r[1])
        core = self.cores[1].view(self.p[1], self.r[1], -1)
        x1 = torch.empty(len(self.x0), self.q[1] * self.r[2])
        for i, x, out in zip(self.found, self.x0.split(self.counts), x1.split(self.counts)):
            torch.mm(x, core[i], out=out)
        self.x1 = x1.view(-1, self.q[0] * self.q[1], self.r[2])[self.prefix_of]
        self.g2 = self.slices(2, self.i2)
        vectors = torch.bmm(self.x1, self.g2).view(len(self.rows), -1)
        offsets = torch.arange(0, len(ids) + 1, len(ids) // samples)
        return torch.nn.functional.embedding_bag(self.row_of, vectors, offsets, mode="sum", include_last_offset=True)

    def backward(self, ids, bags, gradient):
        rows, prefixes = len(self.rows), len(self.i0)
        order = torch.argsort(self.row_of)
        offsets = torch.cat([torch.zeros(1, dtype=torch.int64), torch.cumsum(torch.bincount(self.row_of), 0)])
        d2 = torch.nn.functional.embedding_bag(bags[order], gradient, offsets, mode="sum", include_last_offset=True)
        d2 = d2.view(rows, -1, self.q[2])
        gradient2 = sum_groups(torch.bmm(self.x1.transpose(1, 2), d2).view(rows, -1), self.i2, self.p[2])
        d1 = torch.bmm(d2, self.g2.transpose(1, 2)).view(rows, -1)
        d1 = sum_groups(d1, self.prefix_of, prefixes).view(prefixes * self.q[0], -1)
        core = self.cores[1].view(self.p[1], self.r[1], -1)
        gradient1 = torch.zeros_like(core)
        d0 = torch.empty_like(self.x0)
        for i, x, d, out in zip(self.found, *(v.split(self.counts) for v in (self.x0, d1, d0))):
            torch.mm(x.t(), d, out=gradient1[i])
            torch.mm(d, core[i].t(), out=out)
        gradient0 = sum_groups(d0.view(prefixes, -1), self.i0, self.p[0])
        self.step([gradient0, gradient1.view(self.p[1], -1), gradient2])


KINDS = {"chunks": Chunks, "groups": Groups}


def check(kind, case):
    """Vectors and cores after a step on four bags, against the definition in double and its derivative by autograd."""
    table = kind(case, seed=1)
    cores = [core.double().requires_grad_() for core in table.cores]
    ids = torch.from_numpy(ids_of(numpy.random.default_rng(1), {**case, "batch": 4}))
    ids[-1] = ids[0]
    bags = torch.arange(4).repeat_interleave(len(ids) // 4)
    p, q, r = table.p, table.q, table.r
    row = torch.einsum("nax,nxby,nyc->nabc", cores[0][ids // (p[1] * p[2])].view(-1, q[0], r[1]),
                       cores[1][ids // p[2] % p[1]].view(-1, r[1], q[1], r[2]),
                       cores[2][ids % p[2]].view(-1, r[2], q[2])).reshape(len(ids), -1)
    expected = torch.zeros(4, row.shape[1], dtype=torch.float64).index_add(0, bags, row)
    gradient = torch.randn(4, row.shape[1])
    expected.backward(gradient.double())
    torch.testing.assert_close(table.forward(ids, bags, 4).double(), expected.detach(), rtol=1e-4, atol=1e-4)
    before = [core.clone() for core in table.cores]
    table.backward(ids, bags, gradient)
    for core, old, wanted in zip(table.cores, before, cores):
        change = (core - old).double() / -LEARNING_RATE
        torch.testing.assert_close(change, wanted.grad, rtol=1e-2, atol=1e-3 + 2e-7 / LEARNING_RATE)


def measure(request):
    """The batches take turns."""
    case = request["case"]
    table = KINDS[request["system"]](case, request["seed"])
    random = numpy.random.default_rng(request["seed"])
    batches = [torch.from_numpy(ids_of(random, case)) for _ in range(BATCHES)]
    bags = torch.arange(case["batch"]).repeat_interleave(case["hotness"][0])
    gradient = torch.randn(case["batch"], case["dim"])

    def step(number):
        ids = batches[number % BATCHES]
        table.forward(ids, bags, case["batch"])
        table.backward(ids, bags, gradient)
    return timed(step, request["seconds"], FEWEST_CALLS, warm_up=1)


def answer(request):
    if request["system"] == "peak":
        return peak()
    if request["check"]:
        check(KINDS[request["system"]], request["case"])
    return measure(request)


if __name__ == "__main__":
    serve(versions(), answer)

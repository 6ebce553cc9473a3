# SPDX-License-Identifier: Apache-2.0
"""The peers' side of scripts/peers/dlrm: a JSON request per line on stdin, {"ms", "calls"} on stdout. Dense models as
facebookresearch/dlrm (dlrm_s_pytorch.py) and MLPerf's DLRM-DCNv2 have them, behind pooled vectors that need a gradient."""
import torch

from worker import peak, serve, timed, versions

FEWEST_CALLS = 3
LEARNING_RATE = 2.0**-20  # as in kernels/bench/dense_layers.cpp: weights stay where they are


def mlp(inputs, layers, ends_in_relu):
    """Layers and the ReLUs behind them; none behind the last where it gives the logit."""
    modules = []
    for number, outputs in enumerate(layers, 1):
        modules.append(torch.nn.Linear(inputs, outputs))
        if ends_in_relu or number < len(layers):
            modules.append(torch.nn.ReLU())
        inputs = outputs
    return torch.nn.Sequential(*modules)


class Dots(torch.nn.Module):
    """The vectors' products with each other, below the diagonal: by two indices as published, or, tuned, by one, which
    needs a third of the time."""

    def __init__(self, vectors, tuned):
        super().__init__()
        self.rows, self.columns = torch.tril_indices(vectors, vectors, -1)
        self.places = self.rows * vectors + self.columns if tuned else None

    def forward(self, lead, vectors):
        products = torch.bmm(vectors, vectors.transpose(1, 2))
        below = (products[:, self.rows, self.columns] if self.places is None else
                 products.flatten(1).index_select(1, self.places))
        return torch.cat([lead, below], 1)


class Crosses(torch.nn.Module):
    """Low-rank cross layers, x <- x_0 * (W (V x) + b) + x."""

    def __init__(self, inputs, rank, layers):
        super().__init__()
        self.v = torch.nn.ModuleList(torch.nn.Linear(inputs, rank, bias=False) for _ in range(layers))
        self.w = torch.nn.ModuleList(torch.nn.Linear(rank, inputs) for _ in range(layers))

    def forward(self, lead, vectors):
        first = x = vectors.flatten(1)
        for v, w in zip(self.v, self.w):
            x = first * w(v(x)) + x
        return x


class Model(torch.nn.Module):
    def __init__(self, case, tuned):
        super().__init__()
        vectors, width = len(case["widths"]) + 1, case["widths"][0]
        self.bottom = mlp(case["numerical_features"], case["bottom_mlp"], True)
        if case["dense"] == "dlrm":
            inputs, self.meeting = width + vectors * (vectors - 1) // 2, Dots(vectors, tuned)
        else:
            inputs = vectors * width
            self.meeting = Crosses(inputs, case["cross_rank"], case["cross_layers"])
        self.top = mlp(inputs, case["top_mlp"], False)

    def forward(self, numerical, vectors, labels):
        """The loss."""
        lead = self.bottom(numerical)
        logits = self.top(self.meeting(lead, torch.cat([lead.unsqueeze(1), vectors], 1)))
        return torch.nn.functional.binary_cross_entropy_with_logits(logits.squeeze(1), labels)


def optimizer_of(name, parameters, tuned):
    """Tuned: one call for all parameters."""
    kind = {"sgd": torch.optim.SGD, "adagrad": torch.optim.Adagrad}[name]
    return kind(parameters, lr=LEARNING_RATE, **({"fused": True} if tuned else {}))


def measure(request):
    case, tuned = request["case"], request["tuned"]
    torch.manual_seed(request["seed"])
    torch._dynamo.reset()  # else the graphs of earlier cases stay
    model = Model(case, tuned)
    parameters = sum(each.numel() for each in model.parameters())
    if parameters != case["parameters"]:
        raise ValueError(f"{parameters} parameters, where ours has {case['parameters']}")
    optimizer = optimizer_of(request["optimizer"], model.parameters(), tuned)
    loss = torch.compile(model, dynamic=False) if request["system"] == "torch.compile" else model
    samples = case["batch"]
    numerical = torch.randn(samples, case["numerical_features"])
    vectors = torch.randn(samples, len(case["widths"]), case["widths"][0]).mul_(0.05).requires_grad_()
    labels = (torch.arange(samples) % 4 == 0).float()

    def step(_):
        loss(numerical, vectors, labels).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        vectors.grad = None
    return timed(step, request["seconds"], FEWEST_CALLS, warm_up=3)


def answer(request):
    return peak() if request["system"] == "peak" else measure(request)


if __name__ == "__main__":
    serve(versions(), answer)

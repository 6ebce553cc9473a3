# SPDX-License-Identifier: Apache-2.0
"""What is measured, by scripts/measure, and what it answers: one entry a campaign, in the order of the pages."""
from dataclasses import dataclass

LAUNCHER = ("mpiexec", "-n", "2", "scripts/bind-rank", "2")
SHARDMARK = (*LAUNCHER, "shardmark")
PEERS = {"peers": "scripts/peers/fbgemm", "train_peers": "scripts/peers/tensor_train", "dense_peers": "scripts/peers/dlrm",
         "step_peers": "scripts/peers/torchrec", "map_peers": "scripts/peers/hash_maps"}  # script of a kind
PYTHON_PEERS = tuple(kind for kind in PEERS if kind != "map_peers")  # share an environment, and are given our program
KERNEL_PEERS = tuple(kind for kind in PYTHON_PEERS if kind != "step_peers")  # beside shardmark-kernels
KERNEL_SETTINGS = {"OMP_PROC_BIND": "spread", "OMP_PLACES": "threads"}


@dataclass(frozen=True)
class Part:
    """One of several commands of a campaign; their records share a file, each with the name of its part."""
    name: str
    command: tuple
    quick: tuple = ()  # instead of the same options of the command
    when: str = ""  # what its workload is like


@dataclass(frozen=True)
class Campaign:
    name: str  # of the file of results
    title: str
    answers: str  # the question
    kind: str  # of the file: cases, exchanges, kernels, trains, dynamic, predictions, options, holdout, scale or one of PEERS
    command: tuple  # words; --launcher takes the place of LAUNCHER
    quick: tuple  # further words, to try the machinery out: nothing that these measure means anything
    minutes: float  # on two cores; scripts/measure gives up after twice that and a minute
    when: str = ""  # the situation in which its answer is advice
    axis: str = ""  # cases: the field in which those of interest differ
    against: str = ""  # its value that the best is held against; otherwise the slowest
    links: bool = False  # between hosts: measured where --launcher says how to reach them
    suffix: str = ".jsonl"
    parts: tuple = ()  # in place of the command
    group: str = ""  # another name, of several campaigns
    first: tuple = ()  # a command before: it writes the file MACHINE, which the others read
    anew: bool = False  # the same before each part, which is measured again if one behind it differs: what a machine can do changes
    asked: bool = False  # measured only where it is named: it takes long


# The workload of FBTT-Embedding's benchmark. Where rows are scaled, shapes are those suggested for them.
FBTT = ("shardmark", "run", "fbtt", "--plan", "table_wise", "--check", "1", "--seconds", "4")
ZIPF = ("--ids.distribution", "power_law")
TRAINS = (*SHARDMARK, "compare", "fbtt", "--storage", "dense,tt", "--tt.row-shape", "auto", "--exchange", "mpi_alltoallv",
          "--replicated-gradients", "auto", "--check", "1", "--seconds", "2", "--batches")
SMALL_TRAINS = ("--steps", "2", "--batch", "32", "--scale", "1/1000", "--batches", "2")
TRAIN_PARTS = (
    Part("uniform", FBTT, SMALL_TRAINS),
    Part("zipf", (*FBTT, *ZIPF), SMALL_TRAINS),
    Part("drift", (*FBTT, *ZIPF, "--ids.shift", "1000", "--batches", "16"), SMALL_TRAINS),
    # Copies of all rows on each rank take 17 GB.
    *(Part(f"rows{divisor}", (*TRAINS, "16", "--plan", "table_wise" if divisor == 1 else
                              "table_wise,data_parallel", "--scale", f"1/{divisor}"), SMALL_TRAINS)
      for divisor in (1000, 100, 10, 1)),
    Part("cache", (*TRAINS, "32", *ZIPF, "--plan", "table_wise", "--scale", "1/10", "--tt.cache-rows", "110000"),
         (*SMALL_TRAINS, "--tt.cache-rows", "1000")),
)
# Predictions beside measurements: every kind of planner, one exchange, one transfer.
MACHINE = "machine.json"
CALIBRATE = (*SHARDMARK, "calibrate", "--out", MACHINE)
# Twenty that do not depend on the machine file, which the planners of others are held against too (`shardmark results audit`).
PLANS = ",".join((
    "table_wise", "row_wise", "row_wise_block", "column_wise", "data_parallel", "data_parallel+table_wise", "basic", "memory_balanced",
    "memory_optimized", "size_greedy", "dim_greedy", "lookup_greedy", "size_lookup_greedy", *(f"random:seed={seed}" for seed in (1, 2, 3)),
    "hugectr_auto", "cost_rule", "cost_rule_bytes", "torchrec", "search"))


def predicted(workload, scale, when, budget="200s", more=()):
    return Part(workload, (*SHARDMARK, "compare", workload, "--scale", scale, "--plan", PLANS, "--exchange", "mpi_alltoallv",
                           "--machine", MACHINE, "--check", "1", "--batches", "8", "--budget", budget, *more),
                ("--scale", "1/1024", "--batch", "512", "--budget", "10s", "--plan", "table_wise,row_wise,search"), when)


# Scaled to about 1 GB of rows: tables of other sizes, widths and hotness, shared and not.
PREDICTED = (
    predicted("criteo-kaggle", "1/16", "few of your tables are large, rows of 64 bytes"),
    predicted("hugectr-dlrm", "1/16", "the same with rows of 512 bytes", more=("--batch", "8192")),
    predicted("synthetic-tiny", "1/16", "tables are shared, and bags hold up to ten ids", more=("--batch", "16384")),
    predicted("deeprec-dlrm", "1", "all tables are small", more=("--batch", "8192")),
    predicted("dlrm-dcnv2", "1/512", "bags hold up to a hundred ids, rows of 512 bytes", more=("--batch", "2048")),
    predicted("criteo-terabyte", "1/512", "two thirds of all rows are in a few tables", more=("--batch", "8192")),
)
LINKS_PREDICTED = tuple(
    predicted(workload, scale, when, "100s", ("--batch", batch)) for workload, scale, batch, when in (
        ("criteo-kaggle", "1/64", "4096", "links are slow, few of your tables are large"),
        ("hugectr-dlrm", "1/64", "1024", "links are slow, rows of 512 bytes"),
        ("synthetic-tiny", "1/64", "2048", "links are slow, tables are shared"),
        ("deeprec-dlrm", "1", "2048", "links are slow, all tables are small"),
        ("dlrm-dcnv2", "1/4096", "512", "links are slow, bags hold up to a hundred ids")))


def other_options(name, workload, words, when, scale="1/16"):
    return Part(name, (*SHARDMARK, "compare", workload, "--scale", scale, *words.split(), "--machine", MACHINE, "--check", "1", "--batches", "8",
                       "--budget", "60s"), ("--scale", "1/1024", "--batch", "512", "--budget", "10s"), when)


# What the plans above leave out: a term of the model that prices it can only earn its place here.
BY_LIBRARY = "--exchange mpi_alltoallv"
OTHER_OPTIONS = (
    other_options("small-batches", "criteo-kaggle", f"--batch 512 --plan table_wise,row_wise,column_wise,data_parallel {BY_LIBRARY}",
                  "steps take less than a millisecond"),
    other_options("many-tables", "synthetic-tiny", f"--batch 512 --plan table_wise,row_wise {BY_LIBRARY}", "the same of 55 tables, up to ten ids a bag"),
    other_options("columns", "criteo-kaggle", f"--plan column_wise,data_parallel+table_wise {BY_LIBRARY}", "rows whose state is theirs as a whole are split"),
    other_options("transfers", "criteo-kaggle", f"--plan row_wise --transfer dense_partials,sparse_partials,unique_rows,reduce_scatter {BY_LIBRARY}",
                  "what travels for tables split by rows"),
    other_options("exchanges", "criteo-kaggle", "--plan table_wise,row_wise --exchange node_shared,pairwise", "how it travels"),
    other_options("wires", "criteo-kaggle", f"--plan table_wise,row_wise --wire fp16,int8 {BY_LIBRARY}", "vectors and gradients are narrow"),
    other_options("groups", "criteo-kaggle", f"--plan table_wise,row_wise --groups 4 {BY_LIBRARY}", "groups of tables follow each other"),
    other_options("prefetched", "criteo-kaggle", f"--plan table_wise,row_wise --async ids,rows {BY_LIBRARY}", "steps are prepared beside others"),
    other_options("adam", "hugectr-dlrm", f"--batch 4096 --plan table_wise,row_wise,column_wise --optimizer adam {BY_LIBRARY}",
                  "rows of 512 bytes with twice as much state"),
    other_options("narrow-rows", "criteo-kaggle", f"--plan table_wise,row_wise --dtype fp16 {BY_LIBRARY}", "values of tables are of two bytes"),
    other_options("means", "synthetic-tiny", f"--batch 8192 --plan table_wise,row_wise --pooling mean {BY_LIBRARY}", "bags are divided by their ids"),
    other_options("keys", "criteo-kaggle", f"--plan table_wise,row_wise --storage dynamic {BY_LIBRARY}", "tables grow"),
    other_options("new-keys", "open-vocabulary", f"--plan table_wise,row_wise {BY_LIBRARY}", "one id in a hundred is new"),
    other_options("tensor-trains", "fbtt", f"--plan table_wise,data_parallel {BY_LIBRARY}", "rows are computed", scale="1/100"),
    other_options("dense-layers", "criteo-terabyte", f"--batch 2048 --plan table_wise --dense dlrm {BY_LIBRARY}", "a model stands behind the tables",
                  scale="1/512"),
)
# Tables of any keys beside dense ones; what was saved as training went on is restored on as many ranks, and on more.
SAVED = "saved-"  # begins the name of a folder of checkpoints, which goes with the campaign
TRAINED = ("criteo-kaggle", "--scale", "1/4", "--plan", "row_wise", "--exchange", "node_shared", "--check", "1")
CEILING = ("--disk-ceiling", "true")
SMALL_TRAINED = ("--scale", "1/1024", "--batch", "512", "--train", "8", "--save-every", "2")


def saved(name, *more):
    return Part(name, (*SHARDMARK, "run", *TRAINED, "--train", "1400", "--save", SAVED + name, "--save-every", "700", *more), SMALL_TRAINED)


def restored(name, launcher, *more):
    return Part(name, (*launcher, "shardmark", "run", *TRAINED, "--train", "1410", "--restore", SAVED + "stop", *more),
                SMALL_TRAINED[:4] + ("--train", "10"))


DYNAMIC_PARTS = (
    Part("steps", (*SHARDMARK, "compare", *TRAINED, "--storage", "dense,dynamic", "--batches", "16", "--steps", "200", "--budget", "2m",
                   "--machine", MACHINE), ("--scale", "1/1024", "--batch", "512", "--budget", "10s")),
    saved("stop", *CEILING), saved("behind", "--save-mode", "behind"), saved("changes", "--save-kind", "changes", *CEILING),
    restored("restore2", LAUNCHER), restored("disk", LAUNCHER, *CEILING), restored("restore3", ("mpiexec", "--oversubscribe", "-n", "3")),
)
PUBLISHED = tuple(Part(workload, ("shardmark", "predict", workload, "--published")) for workload in (
    "hugectr-dlrm", "synthetic-tiny", "synthetic-small", "synthetic-medium", "synthetic-large", "synthetic-jumbo"))
# The largest model that others describe, on as many ranks as a large cluster has: one process plans and predicts.
COLOSSAL = ("synthetic-colossal", "--ranks", "4096", "--machine", "dgx-a100-tensorflow")
SCALE_PARTS = (
    Part("search", ("shardmark", "plan", "create", *COLOSSAL, "--plan", "search"), ("--ranks", "16")),
    Part("predict", ("shardmark", "predict", *COLOSSAL, "--plan", "basic,column_wise,row_wise"), ("--ranks", "16")))
SMALL = ("--budget", "10s", "--check", "1", "--scale", "1/1024", "--batch", "512")
# A budget is for all cases together, with what prepares and checks them, so that any machine
# is done in time.
CAMPAIGNS = (
    Campaign("placements", "Placements of the Criteo tables",
             "Which rank should hold which of 26 tables, few of them large? (`./scripts/run`)", "cases",
             (*SHARDMARK, "compare", "criteo-kaggle", "--budget", "150s"), SMALL, 2.7,
             "few of your tables are large, and all fit", "plan"),
    Campaign("hugectr", "Placements of the DLRM of HugeCTR's notebook",
             "Does the plan that HugeCTR publishes as the faster one win here too, and by as much?", "cases",
             (*SHARDMARK, "compare", "hugectr-dlrm", "--budget", "150s"), SMALL, 2.7,
             "the same with rows of 512 bytes", "plan"),
    Campaign("predictions", "Predictions beside measurements",
             "Which plan does the calibrated model like best, how far off is it, and is `search` better than every rule?",
             "predictions", (), (), 38, "you know no plan yet, or tables of many kinds, ranks on one machine", parts=PREDICTED, first=CALIBRATE,
             anew=True, asked=True),
    Campaign("option-predictions", "Predictions of other options",
             "How far off are predictions of what those plans leave out: small batches, wires, groups, keys, tensor trains?", "options",
             (), (), 15, parts=OTHER_OPTIONS, first=CALIBRATE, asked=True),
    Campaign("holdout", "Predictions beside what others published",
             "From descriptions of their machines alone: what would their steps take?", "holdout", (), (), 0.1, parts=PUBLISHED),
    Campaign("scale", "Plans for 4,096 ranks", "How long do a search and a prediction take where a cluster is large, and how far may the plan be "
             "from the best one?", "scale", (), (), 1.5, parts=SCALE_PARTS, asked=True),
    Campaign("transfers", "Transfers within one machine",
             "Tables split by rows: what should travel where ranks share their memory?", "cases",
             (*SHARDMARK, "compare", "criteo-kaggle", "--plan", "row_wise", "--transfer", "all", "--exchange",
              "mpi_alltoallv", "--budget", "100s"), SMALL, 2,
             "tables must be split by rows, all ranks on one machine", "transfer"),
    Campaign("exchanges", "Exchanges within one machine",
             "Which way of moving bytes beats MPI_Alltoallv, and does `auto` find it?", "exchanges",
             (*SHARDMARK, "exchange", "--bytes", "1KiB:4MiB:16", "--skew", "uniform,hot", "--seconds", "0.2"),
             ("--seconds", "0.02"), 1, "which exchange, on one machine"),
    Campaign("kernels", "Kernels beside what the memory can do",
             "How far from the limits of the memory are lookups and updates?", "kernels",
             ("shardmark-kernels", "--benchmark_filter=case:[acd]/.*values:fp32|lookup/case:a/|update/case:a/.*optimizer:rowwise",
              "--benchmark_min_time=0.3"), ("--scale=1/256", "--benchmark_min_time=0.01"), 2.5, suffix=".json"),
    Campaign("peers", "Kernels beside FBGEMM and PyTorch",
             "The same lookups and updates in other libraries: who is faster?", "peers",
             ("scripts/peers/fbgemm", "--passes", "3"), ("--scale", "1/256", "--seconds", "0.05", "--passes", "1"), 15,
             asked=True),
    Campaign("dlrm-peers", "Dense models beside PyTorch",
             "Forward, backward and update of the layers behind the embeddings: who is faster, and how far from what products can do?",
             "dense_peers", ("scripts/peers/dlrm", "--passes", "3"),
             ("--scale", "1/64", "--seconds", "0.05", "--passes", "1", "--cases", "dlrm-kaggle"), 9, asked=True),
    Campaign("torchrec-peers", "Distributed steps beside TorchRec",
             "The same plans of the same tables on two ranks: who is faster, with embeddings alone and with the whole DLRM?",
             "step_peers", ("scripts/peers/torchrec", "--passes", "3"),
             ("--scale", "1/1024", "--seconds", "0.05", "--passes", "1", "--batches", "512", "--dense", ""), 24, asked=True),
    Campaign("dynamic-peers", "Dynamic tables and checkpoints beside TorchRec",
             "Steps whose ids are keys, each of which has a row, and saves of what was trained: who is faster?", "step_peers",
             ("scripts/peers/torchrec", "--passes", "3", "--scale", "1/4", "--batches", "", "--dense", "", "--keys", "4096,16384,65536",
              "--save", "16384"),
             ("--scale", "1/1024", "--seconds", "0.05", "--passes", "1", "--keys", "512", "--save", "512"), 10, asked=True),
    Campaign("dynamic", "Dynamic tables and checkpoints beside dense tables",
             "What does it cost that tables grow, and that a run must not be lost?", "dynamic", (), (), 6, parts=DYNAMIC_PARTS,
             first=CALIBRATE, asked=True),
    Campaign("key-tables", "Key tables beside hash maps",
             "Finding, updating and inserting 8 million keys of 64 bits on one thread: who is faster?", "map_peers",
             ("scripts/peers/hash_maps", "--passes", "3"), ("--passes", "1", "--keys", "100K"), 8, asked=True),
    Campaign("tensor-train", "Tables as tensor trains",
             "How fast are tables as products of cores, beside FBTT-Embedding and beside dense ones of the same rows, and from "
             "which size on do they win?", "trains", (), (), 4, "a table is too large for its memory, or copied to all ranks",
             parts=TRAIN_PARTS, group="tensor-train"),
    Campaign("tensor-train-peers", "Tensor trains beside PyTorch",
             "The same steps as FBTT-Embedding takes them, and as a PyTorch user could: who is faster?", "train_peers",
             ("scripts/peers/tensor_train", "--passes", "3", "--seconds", "0.5", "--cases",
              "tt-uniform,tt-zipf,tt-zipf-16384"), ("--cases", "tt-uniform", "--scale", "1/64", "--seconds", "0.05"), 2,
             group="tensor-train"),
    Campaign("links-transfers", "Transfers between hosts",
             "Tables split by rows: what should travel where links are slow?", "cases",
             (*SHARDMARK, "compare", "criteo-kaggle", "--plan", "row_wise", "--transfer", "all", "--exchange",
              "mpi_alltoallv", "--scale", "1/64", "--check", "1", "--budget", "2m"), SMALL, 2,
             "tables must be split by rows, ranks on hosts with slow links", "transfer", links=True),
    Campaign("links-nodes", "Partial sums added in their node, between hosts",
             "Bags of up to a hundred ids, rows split over hosts of several ranks each: what should travel?", "cases",
             (*SHARDMARK, "compare", "dlrm-dcnv2", "--plan", "row_wise", "--transfer", "all", "--exchange",
              "mpi_alltoallv", "--scale", "1/256", "--batch", "1024", "--set", "batches=2", "--check", "1", "--budget",
              "2m"), SMALL[:6], 3,
             "bags are large and rows split over hosts of several ranks, links are slow", "transfer", links=True),
    Campaign("links-wires", "Narrow wires between hosts",
             "Do vectors and gradients of half the bytes pay where links are slow?", "cases",
             (*SHARDMARK, "compare", "criteo-kaggle", "--plan", "row_wise", "--transfer", "auto", "--exchange",
              "mpi_alltoallv", "--wire", "fp32,fp16,bf16", "--scale", "1/64", "--check", "1", "--budget", "90s"), SMALL, 2,
             "links are slow, and an error of half precision is no harm", "wire", links=True),
    Campaign("links-async", "Prefetched steps between hosts",
             "What is gained by prefetching where exchanges are exposed?", "cases",
             (*SHARDMARK, "compare", "criteo-kaggle", "--plan", "table_wise", "--async", "off,ids,rows,patched", "--async-threads",
              "2", "--async-capacity", "2", "--exchange", "mpi_alltoallv", "--scale", "1/64", "--check", "1", "--budget",
              "2m"), SMALL, 2.2, "links are slow, and rows may lack a few updates", "async", "off", True),
    Campaign("links-predictions", "Predictions beside measurements between hosts",
             "The same where links are slow: is the plan that the model likes best the fastest?", "predictions", (), (), 15,
             "you know no plan yet, ranks on hosts with slow links", links=True, parts=LINKS_PREDICTED, first=CALIBRATE, asked=True),
    Campaign("links-dedup", "Repeated ids between hosts",
             "Bags of 8 ids, many of them the same: where should repeated ids become one?", "cases",
             (*SHARDMARK, "compare", "criteo-kaggle", "--plan", "row_wise", "--transfer", "unique_rows", "--dedup",
              "off,local,owner,local+owner,auto", "--exchange", "mpi_alltoallv", "--scale", "1/64", "--batch",
              "8192", "--set", "hotness=8", "--check", "1", "--budget", "2m"), SMALL[:6], 2,
             "links are slow, and ids repeat within a batch", "dedup", "off", True),
    Campaign("links-groups", "Groups of features between hosts",
             "Do exchanges pass while other groups of features are computed?", "cases",
             (*SHARDMARK, "compare", "criteo-kaggle", "--plan", "table_wise", "--groups", "1,4,8", "--exchange", "linear",
              "--scale", "1/64", "--batch", "4096", "--set", "hotness=40", "--set", "dim=64", "--check", "1", "--budget",
              "2m"), SMALL[:6], 2.2,
             "exchanges between hosts take longer than what is computed", "groups", "1", True),
    Campaign("links-exchanges", "Exchanges between hosts",
             "Which way of moving bytes beats MPI_Alltoallv where links are slow?", "exchanges",
             (*SHARDMARK, "exchange", "--bytes", "1KiB:4MiB:16", "--skew", "uniform,hot", "--seconds", "0.25"),
             ("--seconds", "0.02"), 1, "which exchange, between hosts", links=True),
)


def commands_of(campaign):
    """[(part, the command before it, its words, words that try the machinery out)]; one without a name where the campaign has no parts."""
    commands = [(part.name, part.command, part.quick) for part in campaign.parts] or [("", campaign.command, campaign.quick)]
    return [(part, campaign.first if campaign.anew or number == 0 else (), *words) for number, (part, *words) in enumerate(commands)]


def campaign_of(name):
    return next(campaign for campaign in CAMPAIGNS if campaign.name == name)

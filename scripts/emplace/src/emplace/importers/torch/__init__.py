"""PyTorch: one training step, or the forward pass, of a model as a graph.

`sources` finds the model that MODEL names. `step` builds it under tensors without elements (`fake`), and one of
two captures records its forward and backward pass: `eager` watches the dispatcher, `joint` walks AOTAutograd's
graph. Both report every aten call to `notes`, in the same form. `costs` counts the work and the bytes of a call.
`graph` turns the notes into a graph file.
"""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Any, Callable, Mapping, Sequence

from .. import Dropped, Imported, ImportFailure, graph_file, require
from . import sources
from .models import MODELS, TrainingSetup

if TYPE_CHECKING:
    import torch

    from . import step

OPTIMIZER_NAMES = ("sgd", "momentum", "adam", "adamw", "none")
DTYPE_NAMES = ("f32", "bf16", "f16")
CAPTURE_NAMES = ("aot", "eager")  # the default first
EXPORTER = "emplace import --from torch"
EPILOG = """\
MODEL is one of
  a name that --list shows      gpt2_small
  a Python file                 my_model.py --function build, or my_model.py:build
  a function of a package       my_package.my_models:build
  a config.json of a model      of Transformers (--class, --loss) or of diffusers; nothing is downloaded

a function of your own returns (module, inputs, targets, loss_fn); the step computes
loss_fn(module(*inputs), *targets),  which must be a scalar. Without targets, return (module, inputs,
loss_fn); with --loss none, loss_fn may be None. It is called under tensors without elements, so torch.empty
is sufficient for data. It may take batch, seq and image, which --batch, --seq and --image then set.

    # my_model.py
    import torch
    from torch import nn

    def build(batch=64):
        module = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 10))
        images = torch.empty(batch, 784)
        labels = torch.empty(batch, dtype=torch.int64)
        return module, (images,), (labels,), nn.functional.cross_entropy

    emplace import my_model.py --optimizer adamw -o my_model.json.gz

a part of a step:
  --optimizer none     no update: forward, loss and backward; the gradients of the parameters are results
  --loss none          no loss: backward begins with a gradient of ones for each result of the module that
                       depends on a parameter; targets are not read; an update follows unless --optimizer none
  --inference          only the forward pass, in evaluation mode

a model that several GPUs share:
  --ranks N            your function divides the module by parallelize_module or fully_shard, over
                       init_device_mesh("cpu", (N,)) or meshes of more dimensions; it is called as
                       rank 0 of N, without other processes. The graph is that of one rank: parts of
                       tensors, and ops collective.all_reduce, all_gather, reduce_scatter, all_to_all.
                       --batch is that of your function; with fully_shard each rank has one of its
                       own, and source.batch is that of all ranks. fully_shard needs --capture eager

the two captures:
  aot        for the graph that compilers and partitioners start from: AOTAutograd's joint forward
             and backward graph, functional, without ops whose result nobody reads.
  eager      for what PyTorch launches without a compiler, op by op, and for what the joint graph
             cannot show: in-place ops stay in place (activations take less memory), checkpointed
             parts are computed again, and an LSTM or GRU keeps its own dropout between layers.

what is in the graph:
  kinds      the aten names (aten.convolution); an op written in place has its plain name
             (aten.relu, not aten.relu_) and an output that aliases its input; dropout is
             aten.native_dropout; the update is one op a parameter, optimizer.sgd and so on
  names      module path / op: Mixed_5b.branch1x1.conv/convolution, and for the backward pass
             Mixed_5b.branch1x1.conv/backward/convolution_backward; attributes.module has the path,
             attributes.forward_op of a backward op names the forward op it belongs to
  order      a control input where an op must wait for memory to be read or written
  co-located a parameter, its optimiser state and its update; running statistics and their writer
  flops      by torch.utils.flop_counter, 2 for a multiply-add; ops it does not know count 0 and are
             listed at the end

exit codes: 0 done; 1 the file could not be written; 2 wrong input, or a package is missing
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of this format."""
    parser.add_argument("--function", metavar="NAME",
                        help="of a Python file, which makes the model (default: build)")
    parser.add_argument("--transformers", metavar="CONFIG.json", help="another way to give CONFIG.json as MODEL")
    parser.add_argument("--class", dest="model_class", metavar="NAME",
                        help="model class for a config (default: the first of its `architectures`)")
    parser.add_argument("--loss", nargs="?", const="model", choices=sources.LOSS_NAMES,
                        help="none: backward begins at the results of the module, see below; for a config also "
                             "model: the loss that the class computes from labels; mean: the mean of the squares of "
                             "its first output, for classes without one (default: model)")
    parser.add_argument("--input", action="append", metavar="NAME",
                        help="for a Transformers config: an optional argument of forward() to give as well, such as "
                             "attention_mask; may be repeated")
    parser.add_argument("--attention", choices=("sdpa", "eager"),
                        help="for a Transformers config: one fused op, or separate products and softmax (default: the "
                             "choice of Transformers)")
    parser.add_argument("--batch", type=_positive, metavar="N", help="samples in a step")
    parser.add_argument("--seq", type=_positive, metavar="N", help="tokens (raw audio: values) in a sample")
    parser.add_argument("--image", type=_positive, metavar="N",
                        help="pixels of an image's side, for a config (default: its `image_size`)")
    parser.add_argument("--optimizer", choices=OPTIMIZER_NAMES,
                        help="none: no update; default: momentum for image models and your own, else adamw")
    parser.add_argument("--inference", action="store_true",
                        help="import only the forward pass, in evaluation mode: no loss, gradients or update")
    parser.add_argument("--dtype", choices=DTYPE_NAMES,
                        help="of parameters and floating-point inputs (default: as the model "
                             "makes them; f32 for those of --list)")
    parser.add_argument("--capture", choices=CAPTURE_NAMES, default=CAPTURE_NAMES[0],
                        help="aot: AOTAutograd's joint graph; eager: the ops that eager PyTorch "
                             "launches (default: %(default)s)")
    parser.add_argument("--ranks", type=_positive, default=1, metavar="N",
                        help="the model is divided among N ranks; the graph is that of one, see below")
    parser.add_argument("--list", action=_List, help="print the models of the menu and stop")


def read(model: str | None, options: argparse.Namespace) -> Imported:
    """Imports the model that the user named. Throws ImportFailure."""
    if options.inference and (options.optimizer or options.loss):
        raise ImportFailure(f"--inference has no {'update' if options.optimizer else 'loss'}: leave out "
                            f"--{'optimizer' if options.optimizer else 'loss'}")
    if not 1 <= options.ranks <= graph_file.MAX_RANKS:
        raise ImportFailure(f"--ranks {options.ranks}: expected a number from 1 to {graph_file.MAX_RANKS}")
    source = sources.find(model, options)
    require(source.packages, "torch")
    optimizer = None if options.inference else options.optimizer or source.optimizer
    without_loss = options.loss == "none"
    settings = {**source.settings, **_mode(optimizer, without_loss)}
    if options.dtype or source.dtype:
        settings["dtype"] = options.dtype or source.dtype
    return _record(source.name, source.build, {**settings, "capture": options.capture}, optimizer, without_loss,
                   options.ranks)


def import_torch(module: torch.nn.Module, inputs: Any, targets: Sequence[torch.Tensor] = (),
                 loss_fn: Callable[..., torch.Tensor] | str | None = None, *, optimizer: str = "adamw",
                 inference: bool = False, dtype: str | None = None, capture: str = "aot",
                 name: str | None = None, source: Mapping[str, Any] | None = None) -> Imported:
    """Imports a module in memory as a graph; the module is not changed, and its elements are not used.

    inputs: a tensor, a sequence of tensors, or a mapping of the names of forward()'s arguments to tensors.
    loss_fn: of the module's output and the targets; None takes the output's `loss`, as models of Transformers
    return it. "none": backward begins with a gradient of ones for each result of the module that depends on a
    parameter. optimizer: "none": no update, the gradients of the parameters are results. The module's weights may be
    on any device, including "meta". If the model reads a value of an input in Python, the value in the given tensor is
    used, and `dropped` lists it. name: of the graph. source: more about the model, for the graph's `source`.

    Throws ImportFailure for a model that cannot be recorded, ValueError for an unknown option.
    """
    require(("torch",), "torch")
    from . import copies

    without_loss = loss_fn == "none"
    for value, choices in ((optimizer, OPTIMIZER_NAMES), (dtype, (None, *DTYPE_NAMES)), (capture, CAPTURE_NAMES)):
        if value not in choices:
            raise ValueError(f"got {value!r}; choices: {', '.join(map(str, choices))}")
    if isinstance(loss_fn, str) and not without_loss:
        raise ValueError(f"got loss_fn {loss_fn!r}; choices: a function, None, 'none'")
    chosen = None if inference else optimizer
    settings = {"model": type(module).__name__, **(source or {}), **_mode(chosen, without_loss),
                **({"dtype": dtype} if dtype else {}), "capture": capture}
    return _record(name or type(module).__name__,
                   lambda: copies.setup(module, inputs, targets, None if without_loss else loss_fn),
                   settings, chosen, without_loss)


def _mode(optimizer: str | None, without_loss: bool) -> dict[str, str]:
    loss = {"loss": "none"} if without_loss else {}
    return {"mode": "inference"} if optimizer is None else {"optimizer": optimizer, **loss}


def _record(name: str, build: Callable[[], TrainingSetup], settings: Mapping[str, Any],
            optimizer: str | None, without_loss: bool, size: int = 1) -> Imported:
    import torch

    from . import explain, graph, notes, ranks, step

    version = torch.__version__.split("+")[0]
    source = {"framework": f"torch {version}", **settings, "exporter": EXPORTER}
    taken = notes.StepNotes()
    try:
        with ranks.world(size):
            recorded = step.record(build, settings["capture"], optimizer, settings.get("dtype"), taken, without_loss)
            ranks.require_collectives(size, taken.ops)
    except ImportFailure:
        raise
    except step.StepError as error:
        raise ImportFailure(f"{name}: {error}") from error
    except Exception as error:  # the model's code may throw anything
        raise ImportFailure(explain.explain(name, error, taken.failed_in, settings["capture"])) from error
    if "batch" in source:
        source["batch"] *= math.prod(map(len, taken.data_groups))
    document = graph.make_graph(name, source, taken, size).document()
    return Imported(document, _dropped(recorded, "gradient" if optimizer == "none" else "update",
                                       graph.without_flops(taken)))


def _dropped(recorded: step.Recorded, result: str, unknown: Sequence[tuple[str, int, int]]) -> list[Dropped]:
    dropped = [Dropped(*note) for note in recorded.setup.notes]
    for name, places in sorted(recorded.assumed_reads.items()):
        dropped.append(Dropped(f"choice by the value of input {name!r}", len(places),
                               f"the value of the example was used at {', '.join(sorted(places))}"))
    if recorded.unused:
        first = ", ".join(recorded.unused[:10]) + (", ..." if len(recorded.unused) > 10 else "")
        dropped.append(Dropped(f"{result} of a parameter", len(recorded.unused), f"no gradient reaches {first}"))
    return dropped + [Dropped(f"op kind {kind}", count, f"no FLOP formula: only its {moved:,} bytes have a cost")
                      for kind, count, moved in unknown]


class _List(argparse.Action):
    """--list: prints the menu and exits."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str | None = None) -> None:
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, default=argparse.SUPPRESS, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        width = max(map(len, MODELS))
        print("\n".join(f"{name:{width}}  {MODELS[name].sentence}" for name in sorted(MODELS)))
        parser.exit()


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)

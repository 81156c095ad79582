"""Where gradients end in what PyTorch's exporter traced, and where they are users' own: it keeps neither by itself."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from copy import copy, deepcopy
from importlib import import_module
from typing import Any

from stele.errors import ArgumentError


def stopped(exported: Any) -> Any:
    """A program that detaches what `torch.no_grad()` computes, of which its decomposition leaves nothing else."""
    own = copy(exported)        # the caller's stays as it is
    own._graph_module = deepcopy(exported.graph_module)
    for module in own.graph_module.modules():
        for node in list(getattr(getattr(module, "graph", None), "nodes", ())):
            if switches(node) and not node.args[0]:
                detach(getattr(module, node.args[1].target))
            elif node.target is import_module("torch").ops.aten.detach_.default:
                forget(node)
    return own


def switches(node: Any) -> bool:
    """Whether a node is a graph under `torch.no_grad()` or `torch.enable_grad()`."""
    return "wrap_with_set_grad_enabled" in str(node.target) and node.op == "call_function"


def forget(node: Any) -> None:
    """Has what comes behind `x.detach_()` read its result, as x has no gradients from there on."""
    x = node.args[0]
    node.target = import_module("torch").ops.aten.detach.default
    for user in list(x.users):
        if node < user:
            user.replace_input_with(x, node)


def detach(module: Any) -> None:
    """Has a graph without gradients detach its arrays, but where a graph within it has gradients again."""
    graph = module.graph
    inputs = [n for n in graph.nodes if n.op == "placeholder"]
    arrays = [x for x in inputs if isinstance(x.meta.get("val"), import_module("torch").Tensor)]    # others are sizes
    for x in arrays:
        users = [n for n in x.users if not switches(n)]
        with graph.inserting_after(inputs[-1]):
            alone = graph.call_function(import_module("torch").ops.aten.detach.default, (x,))
        alone.meta.update(x.meta)
        for user in users:
            user.replace_input_with(x, alone)
    module.recompile()


@contextmanager
def own_functions_refused() -> Generator[None]:
    """As long as this lasts, a user's `torch.autograd.Function` raises ArgumentError where it would need its backward.

    The exporter writes out what `forward` computes and forgets `backward`: gradients would be other ones.
    """
    autograd: Any = import_module("torch").autograd
    checkpoint: Any = import_module("torch.utils.checkpoint")
    kind, before = autograd.Function, autograd.Function.__dict__["apply"]

    def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
        if cls is checkpoint.CheckpointFunction:        # which computes under no_grad what has gradients
            return args[0](*args[2:])
        if not cls.__module__.startswith("torch.") and any(getattr(a, "requires_grad", False) for a in args):
            raise ArgumentError(f"{cls.__name__} is a torch.autograd.Function, whose backward is lost in torch.export",
                                hint="Write its gradient as ops, y + (f(x) - y).detach() for f(x) with the gradient of "
                                     "y, or freeze what it is called with: module.requires_grad_(False).")
        return before.__get__(None, cls)(*args, **kwargs)

    kind.apply = classmethod(apply)
    try:
        yield
    finally:
        kind.apply = before

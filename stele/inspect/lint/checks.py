"""The checks, one function each: a program in, findings out."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from stele.inspect.lint.finding import Finding, asked, found, spelled
from stele.inspect.lint.patterns import (
    activated,
    batch_normalised,
    exponentiated,
    float64_leaves,
    is_widened,
    made_of,
    masked,
    probabilities,
)
from stele.inspect.lint.subject import Gradient, Grown, Subject
from stele.ir.graph import Value, fed
from stele.ir.origin import Origin, Where
from stele.ir.types import float64, show
from stele.kernel.kinds import Host, role_of
from stele.ops.composite import AlongAxis, Gelu, Normalize, Silu
from stele.ops.contraction import Contraction
from stele.ops.elementwise.arithmetic import Equal, NotEqual, Sub
from stele.ops.elementwise.unary import Sigmoid, Softplus
from stele.ops.linear import Broadcast, Cast, Reshape, Transpose
from stele.ops.pooling import MaxPool
from stele.ops.reduction import Max

Check = Callable[[Subject], Iterator[Finding]]


def softmax_twice(subject: Subject) -> Iterator[Finding]:
    """softmax (or sigmoid) applied before a cross-entropy that already has it"""
    for v in subject.forward:
        match v:
            case Value(Softplus(), [x]) if isinstance((p := made_of(x, 0)[0]).op, Sigmoid):
                yield found("softmax-twice", p.where, "this sigmoid goes into a binary cross-entropy that has its own "
                            f"({spelled(v.where)}), so that learning slows down. Pass the logits instead.")
        if (taken := exponentiated(v)) is not None:
            p, axis = made_of(*taken)
            if probabilities(p) == axis:
                yield found("softmax-twice", p.where, "this softmax goes into another one, that of a cross-entropy for "
                            f"example ({spelled(v.where)}), so that gradients shrink and the loss cannot reach 0. Pass "
                            "the logits instead: cross_entropy(logits, labels).")


def training_mode(subject: Subject) -> Iterator[Finding]:
    """dropout or batch-norm in training mode at inference"""
    if not subject.is_inference:
        return
    for v in masked(subject.forward):
        yield found("training-mode", v.where, "dropout is on, and nothing is learned from this program: its results "
                    "are random. Call model.eval() first, and model.train() before the next step.")
    learned = fed(subject.forward, (v for v in subject.forward if isinstance(v.op, Contraction)))
    for v in subject.forward:
        if batch_normalised(v) in learned:
            yield found("training-mode", v.where, "this normalises by the batch at hand, and nothing is learned from "
                        "this program: a result depends on what else is in the batch. Call model.eval() first, which "
                        "takes the running statistics.")


def activation_before_pooling(subject: Subject) -> Iterator[Finding]:
    """an activation before max-pooling that could come after"""
    for v in subject.forward:
        if not is_max_pooling(v):
            continue
        (y,) = v.args
        while isinstance(y.op, Reshape):
            (y,) = y.args
        if activated(y) is not None and len(subject.users[y]) == 1:
            yield found("activation-before-pooling", y.where, f"this activation ({y.op.name.lower()}) comes before "
                        f"max-pooling ({spelled(v.where)}), which leaves it fewer elements: it never falls, so the "
                        "result is the same. Write relu(max_pool2d(x, 2)).")


def is_max_pooling(v: Value) -> bool:
    """Whether v is the largest of each window: by its op, or of axes that a reshape has cut in two."""
    if isinstance(v.op, Max):
        return len(v.op.axes) == 2 and isinstance(v.args[0].op, Reshape) and v.args[0].args[0].ndim == v.ndim
    return isinstance(v.op, MaxPool)


def layout_ping_pong(subject: Subject) -> Iterator[Finding]:
    """axes permuted and permuted back around ops that work in any layout"""
    for v in subject.forward:
        if isinstance(v.op, Transpose) and v.ndim > 2 and (away := permuted(v, subject)) is not None:
            yield found("layout-ping-pong", v.where, f"axes are permuted to {away.op.axes} "  # type: ignore[attr-defined]
                        f"({spelled(away.where)}) and come back here, around ops that work in any layout. Leave both "
                        "permutations out and name the axis: softmax(x, axis=1), x + bias.reshape(1, -1, 1, 1).")


def permuted(back: Value, subject: Subject) -> Value | None:
    """The permutation that `back` undoes, where nothing between the two needs it."""
    between, stack, first = {back}, [back.args[0]], None
    while stack:
        x = stack.pop()
        if x in between:
            continue
        between.add(x)
        if isinstance(x.op, Transpose):
            if [x.op.axes[a] for a in back.op.axes] != list(range(x.ndim)):  # type: ignore[attr-defined]
                return None
            first = x
        elif isinstance(x.op, Cast | AlongAxis | Normalize | Gelu | Silu) or x.op.family == "elementwise":
            stack += [a for a in x.args if a.ndim and not isinstance(a.op, Broadcast)]
        else:
            return None
    inner = between - {back}
    return first if all(u in between for x in inner for u in subject.users[x]) else None


def unused_gradient(subject: Subject) -> Iterator[Finding]:
    """a gradient computed for an input nobody asked for"""
    used, left_out = any(g.is_used for g in subject.gradients), {id(g) for g in subject.left_out}
    any_asked = used or not all(g.is_argument for g in subject.gradients)
    unused = [g for g in subject.gradients if any_asked and not g.is_used and (used or g.is_argument)
              and id(g) not in left_out]
    places: dict[Where, list[Gradient]] = {}
    for g in unused:
        places.setdefault(asked(g.value.where), []).append(g)
    for where, group in places.items():
        yield found("unused-gradient", where, f"this computes a gradient of {several(group)}, which nothing takes. "
                    "Leave out requires_grad on data, and detach() what is not to be trained.")


def left_out(subject: Subject) -> Iterator[Finding]:
    """an optimiser that does not hold all parameters that gradients are computed of"""
    if group := subject.left_out:
        names = " and ".join(dict.fromkeys(type(stepped.optimizer).__name__ for stepped in subject.optimizers))
        where = frozenset[Origin]().union(*(stepped.where for stepped in subject.optimizers))
        lines = spelled(frozenset[Origin]().union(*(asked(g.value.where) for g in group)))
        yield found("left-out-parameter", where, f"{names} does not hold {several(group)}: gradients of them are "
                    f"computed ({lines}), but they never change. Give it all of model.parameters(); what is to "
                    "stay as it is, detach(), or set its requires_grad to False.")


def gradients_not_zeroed(subject: Subject) -> Iterator[Finding]:
    """gradients that are added to those of earlier steps, as nothing sets them to zero between"""
    places: dict[Where, list[Grown]] = {}
    for grown in subject.grown:
        places.setdefault(grown.where, []).append(grown)
    for where, group in places.items():
        yield found("gradients-not-zeroed", where, f"this adds to the gradients of {several(group)} that an earlier "
                    "step has used, so that each step goes along the sum of all gradients so far. Call "
                    "optimizer.zero_grad() before loss.backward().")


def several(group: Sequence[Gradient | Grown]) -> str:
    """Whose gradients these are: three names, and how many more."""
    names = [*dict.fromkeys(g.of for g in group)]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def host_sync(subject: Subject) -> Iterator[Finding]:
    """Python waits for numbers in every training step"""
    for where in subject.looks:
        yield found("host-sync", where, "numbers are asked for here in every step, so that Python waits for each one "
                    "and nothing can be computed across it. Keep the tensor, as in total = total + loss, and look now "
                    "and then: if k % 100 == 0: print(float(loss)).")


def traced_every_call(subject: Subject) -> Iterator[Finding]:
    """a function that is traced and compiled in every call"""
    for where in subject.traced:
        yield found("traced-every-call", where, "the function that computes this was traced in every one of its calls, "
                    "which takes many times what running it does. Call st.compile once, before the loop, and pass what "
                    "changes as a tensor; name sizes that change: dims={\"x\": {0: \"batch\"}}.")


def host_op(subject: Subject) -> Iterator[Finding]:
    """an op that Python computes in the midst of a program"""
    for v in subject.values:
        if v.op.family not in ("composite", "complex") and role_of(v) is Host:      # those are written out before
            yield found("host-op", v.where, f"{v.op.name} has no kernel: NumPy computes it, on one thread, while the "
                        "program waits, and nothing joins it. Look whether other functions of st say the same; keep it "
                        "out of loops; pass all there is at once.")


def silent_float64(subject: Subject) -> Iterator[Finding]:
    """float32 that becomes float64 because an array of NumPy's default dtype meets it"""
    known = set[Value]()
    for v in subject.forward:
        if len(v.args) < 2 or not any(is_widened(a, v) for a in v.args):
            continue
        wide = [float64_leaves(a) for a in v.args if a.dtype == float64 and not is_widened(a, v)]
        leaves = [leaf for some in wide if some is not None for leaf in some if leaf not in known]
        if leaves and None not in wide:
            known.update(leaves)
            yield found("silent-float64", v.where, f"float32 meets the float64 array {named(leaves[0])} here, and all "
                        "that follows is computed in float64, at half the speed or less. Make it float32: "
                        "array.astype(np.float32), or st.tensor(array, dtype=\"float32\").")


def column_meets_row(subject: Subject) -> Iterator[Finding]:
    """a column (N, 1) that meets a row (N,) in a difference or a comparison, which makes N x N of it"""
    for v in subject.forward:
        if not isinstance(v.op, Sub | Equal | NotEqual) or v.ndim != 2:
            continue
        meeting = sorted((a.args[0] for a in v.args if isinstance(a.op, Broadcast)), key=lambda a: a.ndim)
        match meeting:
            case [Value(type=row), Value(op, type=column)] if len(row.shape) == 1 and column.shape == (*row.shape, 1) \
                    and row.shape != (1,) and not isinstance(op, Reshape):
                yield found("column-meets-row", v.where, f"{show(column.shape)} meets {show(row.shape)} here, and the "
                            f"result is {show(v.shape)}: each of one with each of the other. Write y.squeeze(1) for "
                            "pairs of equal position, or x[:, None] where each is to meet each.")


def named(leaf: Value) -> str:
    """An array in words: its name, if it has one, its type, and where it was made."""
    label = getattr(leaf.op, "label", "array")
    made = spelled(leaf.where)
    return f"{repr(label) + ' ' if label not in ('array', 'value', 'result') else ''}{leaf.type}" + \
        (f" ({made})" if made else "")


CHECKS: dict[str, Check] = {
    "softmax-twice": softmax_twice,
    "training-mode": training_mode,
    "activation-before-pooling": activation_before_pooling,
    "layout-ping-pong": layout_ping_pong,
    "unused-gradient": unused_gradient,
    "left-out-parameter": left_out,
    "gradients-not-zeroed": gradients_not_zeroed,
    "host-sync": host_sync,
    "traced-every-call": traced_every_call,
    "host-op": host_op,
    "silent-float64": silent_float64,
    "column-meets-row": column_meets_row,
}


def check(subject: Subject) -> list[Finding]:
    """What all checks find, in order."""
    return sorted({finding for each in CHECKS.values() for finding in each(subject)})

"""Work that belongs together is done together: loops alike, and the products of all their steps."""
from __future__ import annotations

from stele.ir.graph import Graph
from stele.ir.report import Report
from stele.ir.rewrite import everywhere
from stele.transform.branches import branches
from stele.transform.contractions import open_contractions
from stele.transform.hoist import hoist
from stele.transform.join import join
from stele.transform.products import join_products
from stele.transform.prune import prune
from stele.transform.share import share
from stele.transform.simplify import simplify
from stele.transform.sink import sink


def merge(graph: Graph, report: Report | None = None, direct: bool = False) -> Graph:
    """The graph with its loops joined, emptied of what does not depend on their carries, and pruned.

    The products of all steps of a loop may have several open batch axes, which no kernel takes.
    """
    after = everywhere(merged, graph)
    return graph if after is graph else share(simplify(open_contractions(after, direct), report=report), report)


def merged(graph: Graph) -> Graph:
    """One level of `merge`."""
    for step in (join, branches, prune, join_products, hoist, prune, sink, prune, branches):
        graph = step(graph)
    return graph

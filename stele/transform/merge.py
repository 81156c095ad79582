"""Work that belongs together is done together: loops alike, and the products of all their steps."""
from __future__ import annotations

from ..ir.graph import Graph
from ..ir.rewrite import everywhere
from .hoist import hoist
from .join import join
from .products import join_products
from .prune import prune
from .share import share
from .simplify import simplify
from .sink import sink


def merge(graph: Graph) -> Graph:
    """The graph with its loops joined, emptied of what does not depend on their carries, and pruned."""
    after = everywhere(merged, graph)
    return graph if after is graph else share(simplify(after))


def merged(graph: Graph) -> Graph:
    """One level of `merge`."""
    for step in (join, prune, join_products, hoist, prune, sink, prune):
        graph = step(graph)
    return graph

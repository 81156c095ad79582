"""Which rule stands for a layer: the tables of all families, by class."""
from __future__ import annotations

from stele.interop.keras import (
    activations,
    attention,
    categories,
    core,
    images,
    normalization,
    operations,
    recurrent,
    reshaping,
    windows,
)
from stele.interop.keras.call import Kinds

FAMILIES = core, activations, windows, normalization, reshaping, images, categories, recurrent, attention, operations

KINDS: Kinds = {name: kind for family in FAMILIES for name, kind in family.KINDS.items()}

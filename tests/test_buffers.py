"""The pool of memory: blocks come back when their last holder goes, and nothing that lives is handed out twice."""
from __future__ import annotations

import itertools

import numpy as np

from stele.backend.buffers import ALIGNMENT, HUGE, KEEP, SLAB, Blocks, Buffer, size_class
from stele.ir.types import float32


def test_blocks_are_aligned_and_apart() -> None:
    memory = Blocks()
    blocks = [memory.block(n) for n in (1, 64, 65, 1000, SLAB - 1, SLAB, HUGE + 1) for _ in range(3)]
    spans = sorted((b.address, b.address + b.bytes) for b in blocks)
    assert all(b.address % ALIGNMENT == 0 for b in blocks)
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))


def test_a_dead_block_is_the_next_one() -> None:
    memory = Blocks()
    for n in (100, HUGE):
        block = memory.block(n)
        address, used = block.address, memory.used
        del block
        assert memory.block(n).address == address and memory.used == used


def test_a_view_keeps_its_block() -> None:
    buffer = Buffer.empty(float32, (1000,))
    buffer.writable()[:] = 7
    view, address = buffer.array, buffer.address
    del buffer
    others = [Buffer.empty(float32, (1000,)) for _ in range(100)]
    assert address not in [b.address for b in others] and set(view) == {7.0}
    assert not view.flags.writeable


def test_a_block_as_large_as_all_the_others_is_kept() -> None:
    memory = Blocks()
    kept = memory.block(2 * KEEP)
    addresses = set()
    for _ in range(3):
        block = memory.block(2 * KEEP)
        addresses.add(block.address)
        del block
    assert len(addresses) == 1 and kept.address not in addresses


def test_what_is_kept_is_bounded() -> None:
    memory = Blocks()
    blocks = [memory.block(KEEP // 4) for _ in range(9)]
    del blocks
    last = memory.block(1)
    assert last.bytes == ALIGNMENT and memory.used == ALIGNMENT
    assert memory.kept <= KEEP + KEEP // 4 + SLAB and len(memory.live) == 1 and not memory.dead


def test_size_classes_waste_little() -> None:
    for n in np.random.default_rng(0).integers(1, 1 << 30, 1000).tolist():
        assert n <= size_class(n) <= max(ALIGNMENT * 4, n * 5 // 4 + 1)

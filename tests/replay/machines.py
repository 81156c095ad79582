"""Machines that code is emitted for: nothing of them is asked of the machine that runs."""
from __future__ import annotations

from stele.backend.cpu.target import Target

K, M = 1 << 10, 1 << 20
X86, ARM = "x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"

MACHINES = {
    "x86-64-v2": Target(name="x86-64-v2", triple=X86, cpu="x86-64-v2", features="", cores=2, vector_bytes=16,
                        registers=16, fma=False, l1=32 * K, l2=256 * K, l3=8 * M),
    "x86-64-v3": Target(name="x86-64-v3", triple=X86, cpu="x86-64-v3", features="", cores=2, vector_bytes=32,
                        registers=16, l1=32 * K, l2=256 * K, l3=12 * M),
    "zen4": Target(name="x86-64-v4", triple=X86, cpu="znver4", features="", cores=2, pace=0.5, far=0.4, bf16=True,
                   l1=32 * K, l2=1 * M, l3=32 * M),
    "icelake": Target(name="x86-64-v4", triple=X86, cpu="icelake-server", features="", cores=2, l1=48 * K,
                      l2=1280 * K, l3=48 * M),
    "sapphire": Target(name="x86-64-v4", triple=X86, cpu="sapphirerapids", features="", cores=2, bf16=True, amx=True,
                       l1=48 * K, l2=2 * M, l3=105 * M),
    "neon": Target(name="neon", triple=ARM, cpu="generic", features="", cores=2, vector_bytes=16, registers=32,
                   l1=64 * K, l2=1 * M, l3=32 * M),
}

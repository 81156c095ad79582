"""Frameworks held to the instructions that most machines have: what each of them is told by, and who cannot be told."""
from __future__ import annotations

from collections.abc import Mapping

from stele.backend.cpu.target import detect
from stele.errors import ConfigError

LIMITS: Mapping[str, Mapping[str, str]] = {
    "native": {},
    "avx2": {"STELE_TARGET": "x86-64-v3", "ONEDNN_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx2",
             "XLA_FLAGS": "--xla_cpu_max_isa=AVX2 --xla_cpu_experimental_ynn_fusion_type=",
             "OPENBLAS_CORETYPE": "Haswell", "NUMBA_CPU_NAME": "haswell"},
}
"""The limit of XLA is one of the code that it writes. Its products go to YNNPACK, which asks the processor alone (seen
in its code while it multiplies: registers of 512 bits); without YNNPACK they go to oneDNN, which obeys."""
OBEYING = ("stele", "pytorch", "jax", "tensorflow", "openvino", "numpy", "pytensor")
"""The others use what the processor has, whatever they are told."""
AVX2 = 32


def left_out(isa: str) -> str:
    """Why frameworks that do not obey have no place under a limit on this machine; '' where they have.

    Raises ConfigError where the machine does not have what is asked for.
    """
    if isa == "native":
        return ""
    width = detect().vector_bytes
    if width < AVX2:
        raise ConfigError(f"--isa {isa} needs a processor with AVX2, this one has vectors of {width} bytes.")
    return f"left out under --isa {isa}: it uses all that this processor has" if width > AVX2 else ""

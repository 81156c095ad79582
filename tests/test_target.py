"""Targets: what is detected, what STELE_TARGET narrows, and that full vectors stay one register."""

from __future__ import annotations

import dataclasses

import llvmlite.binding as llvm
import pytest

from stele.backend.cpu import jit, pool_code, symbols, target
from stele.errors import ConfigError, DeviceError

ADD = """
define void @add(ptr %x, ptr %y) {{
  %v = load <{n} x float>, ptr %x, align 4
  %w = fadd <{n} x float> %v, %v
  store <{n} x float> %w, ptr %y, align 4
  ret void
}}
"""
X86 = {"x86-64-v2": (16, 16, False), "x86-64-v3": (32, 16, True), "x86-64-v4": (64, 32, True)}

is_x86 = target.detect().triple.startswith("x86_64")
only_x86 = pytest.mark.skipif(not is_x86, reason="this machine is no x86-64")


def test_the_host_is_described() -> None:
    host = target.detect()
    assert host.vector_bytes in (16, 32, 64) and host.registers in (16, 32) and host.cores >= 1
    assert 8 << 10 <= host.l1 <= 1 << 20 and host.l1 < host.l2 <= 64 << 20
    assert host.lanes(4) * 4 == host.vector_bytes
    assert target.detect() is host


@only_x86
@pytest.mark.parametrize("level", X86)
def test_a_level_narrows_the_host(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STELE_TARGET", raising=False)
    host = target.detect()
    monkeypatch.setenv("STELE_TARGET", level)
    if [*X86].index(level) > [*X86].index(host.name):
        with pytest.raises(DeviceError, match="The widest level here"):
            target.detect()
        return
    narrow = target.detect()
    assert (narrow.vector_bytes, narrow.registers, narrow.fma) == X86[level]
    assert narrow.key != host.key


def test_an_unknown_target_teaches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STELE_TARGET", "avx9")
    with pytest.raises(ConfigError, match=r"STELE_TARGET must be one of native.*got 'avx9'"):
        target.detect()


@only_x86
@pytest.mark.parametrize("cpu", ["x86-64-v4", "skylake-avx512", "icelake-server", "sapphirerapids", "znver4"])
def test_wide_vectors_stay_whole_on_cpus_that_prefer_narrow_ones(cpu: str) -> None:
    wide = dataclasses.replace(target.detect(), cpu=cpu, features="")
    text = jit.assembly(ADD.format(n=16), wide)
    assert "zmm" in text and "ymm" not in text


@only_x86
@pytest.mark.parametrize("cpu, register", [("x86-64-v2", "xmm"), ("x86-64-v3", "ymm")])
def test_narrow_targets_use_their_own_registers(cpu: str, register: str) -> None:
    text = jit.assembly(ADD.format(n=X86[cpu][0] // 4), dataclasses.replace(target.detect(), cpu=cpu, features=""))
    assert register in text and ("vaddps" in text) == (cpu != "x86-64-v2")


@pytest.mark.parametrize("futex", [True, False])
def test_the_pool_compiles_for_arm(futex: bool) -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    arm = dataclasses.replace(target.detect(), name="neon", triple="aarch64-unknown-linux-gnu", cpu="generic",
                              features="+neon,+lse", vector_bytes=16, registers=32)
    image = jit.compile_module(pool_code.source(arm.triple, futex=futex), arm, allowed=symbols.POOL)
    assert image.imports <= symbols.POOL
    assert ("syscall" in image.imports) == futex

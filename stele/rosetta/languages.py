"""The languages that programs of the benchmark are written in: what runs them, and what is asked of an interpreter."""
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent

# Given a framework's module and its distributions, the interpreter says what it has: version, seconds of an import and
# megabytes on disk. What a distribution needs counts, what is optional does not.
ABOUT_PYTHON = """
import json, re, sys, time
from importlib import import_module
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
module, *names = sys.argv[1:]
start = time.perf_counter()
import_module(module)
seconds, found, wanted, version = time.perf_counter() - start, {}, list(names), ""
while wanted:
    name = re.match("[A-Za-z0-9._-]+", wanted.pop()).group().lower().replace("_", "-")
    if name not in found:
        try:
            own = distribution(name)
        except PackageNotFoundError:
            continue
        files = [Path(own.locate_file(f)) for f in own.files or ()]
        found[name] = sum(f.stat().st_size for f in files if f.is_file())
        version = own.version if name == names[0] else version
        wanted += [need for need in own.requires or () if "extra ==" not in need]
print(json.dumps({"version": version, "import_s": seconds, "installed_mb": sum(found.values()) / 1e6 or None}))
"""

# The same of R, which comes with what it needs, or of one of its packages; R's version names the BLAS that multiplies.
ABOUT_R = r"""
given <- commandArgs(TRUE)
seconds <- system.time(library(given[[1]], character.only = TRUE))[["elapsed"]]
blas <- extSoftVersion()[["BLAS"]]
version <- sprintf("%s (BLAS %s)", getRversion(), file.path(basename(dirname(blas)), basename(blas)))
folders <- R.home()
if (length(given) > 1) {
  version <- sprintf("%s, R %s", packageVersion(given[[1]]), version)
  wanted <- tools::package_dependencies(given[[1]], installed.packages(), recursive = TRUE)[[1]]
  folders <- c(folders, find.package(c(given[[1]], wanted)))
}
files <- unique(list.files(folders, recursive = TRUE, full.names = TRUE))
cat(sprintf("{\"version\": \"%s\", \"import_s\": %.3f, \"installed_mb\": %.3f}\n", version, seconds,
            sum(file.size(files), na.rm = TRUE) / 1e6))
"""

# The same of Julia and a module of its standard library, or of a package with those that it loads, but for what they
# fetched elsewhere. Links lead to what is counted already, or to other packages.
ABOUT_JULIA = r"""
seconds = @elapsed eval(:(using $(Symbol(ARGS[1]))))
using LinearAlgebra
blas = VERSION < v"1.7" ? Base.libblas_name : basename(first(BLAS.get_config().loaded_libs).libname)
homes = abspath.(Sys.BINDIR, [Base.PRIVATE_LIBDIR, joinpath(Base.DATAROOTDIR, "julia")])
packages = filter(!isnothing, pkgdir.(values(Base.loaded_modules)))
folders = unique([homes; filter(folder -> !any(home -> startswith(folder, home), homes), packages)])
files = [joinpath(path, name) for folder in folders for (path, _, names) in walkdir(folder) for name in names]
megabytes = sum(filesize(file) for file in files if !islink(file)) / 1e6
version = (length(ARGS) > 1 ? "$(pkgversion(getfield(Main, Symbol(ARGS[1])))), Julia " : "") * "$VERSION (BLAS $blas)"
println("{\"version\": \"$version\", \"import_s\": $seconds, \"installed_mb\": $megabytes}")
"""


@dataclass(frozen=True)
class Language:
    """A language, known by what its programs end in."""

    suffix: str
    interpreter: str                    # what runs it, in a sentence
    command: str                        # the name by which a shell finds that
    worker: tuple[str | Path, ...]      # what it is given before a program's file: its options, and the worker's file
    about: tuple[str, ...]              # what it is given before a module: its options, and code that says what it has
    draws: bool = False                 # whether programs draw their inputs; others find them in files


PYTHON = Language(".py", "a Python", "python3", (HERE / "worker.py",), ("-c", ABOUT_PYTHON), draws=True)
R = Language(".R", "the Rscript of an R", "Rscript", ("--vanilla", HERE / "worker.R"), ("--vanilla", "-e", ABOUT_R))
JULIA = Language(".jl", "a Julia", "julia", ("--startup-file=no", HERE / "worker.jl"),
                 ("--startup-file=no", "-e", ABOUT_JULIA))
LANGUAGES = {language.suffix: language for language in (PYTHON, R, JULIA)}

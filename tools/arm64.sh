#!/usr/bin/env bash
# Runs test files on 64-bit ARM, emulated: tools/arm64.sh FOLDER tests/test_jit.py ...
# The first call puts Debian's Python for it, qemu-user and wheels into FOLDER (apt-get and pip, no root); a line for
# each file goes into FOLDER/results.txt.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1" && cd "$1" && shift
folder=$PWD

if [ ! -x bin/python ]; then
    options="-oAPT::Architecture=arm64 -oAPT::Architectures=arm64 -oDir::State::Lists=$folder/apt"
    mkdir -p apt/partial wheels site bin logs root/usr/lib/python3
    apt-get $options update
    apt-get $options download python3.11 python3.11-minimal libpython3.11-stdlib libpython3.11-minimal libc6 \
        libstdc++6 libgcc-s1 libexpat1 zlib1g libssl3 libffi8 libbz2-1.0 liblzma5 libsqlite3-0 libuuid1 libcrypt1
    for package in *_arm64.deb; do dpkg -x "$package" root; done
    apt-get download qemu-user-static
    dpkg -x qemu-user-static_*.deb qemu
    python3 -m pip download -q -d wheels --only-binary=:all: --python-version 3.11 --implementation cp \
        --platform manylinux_2_28_aarch64 --platform manylinux_2_27_aarch64 --platform manylinux_2_17_aarch64 \
        --platform manylinux2014_aarch64 \
        numpy llvmlite cffi ml_dtypes safetensors scipy-openblas32 hypothesis pytest tyro rich mpmath pillow unicorn onnx h5py
    for wheel in wheels/*.whl; do unzip -q -o "$wheel" -d site; done
    rm -rf root/usr/lib/python3/dist-packages
    ln -s "$folder/site" root/usr/lib/python3/dist-packages
    # tests start sys.executable: it has to be a program that this machine runs
    printf '#!/bin/sh\nexec %s -L %s -0 "$0" %s "$@"\n' "$folder/qemu/usr/bin/qemu-aarch64-static" "$folder/root" \
        "$folder/root/usr/bin/python3.11" > bin/python
    chmod +x bin/python
fi

export PYTHONPATH=$here STELE_CACHE=$folder/cache OPENBLAS_CORETYPE=NEOVERSEN1
cd "$here"
for file in "$@"; do
    log=$folder/logs/$(basename "$file" .py).log
    timeout 3600 "$folder/bin/python" -m pytest -p no:cacheprovider -o faulthandler_timeout=3000 --tb=short "$file" \
        > "$log" 2>&1 || true
    echo "$file: $(tail -n 1 "$log")" | tee -a "$folder/results.txt"
done

"""Accuracy of published ResNet-20 weights on all 10,000 test images of CIFAR-10: `python -m tests.long_accuracy`."""
from __future__ import annotations

import argparse

from tests.test_equivalence import accuracy, pictures, published

if __name__ == "__main__":
    argparse.ArgumentParser(prog="python -m tests.long_accuracy", description=__doc__).parse_args()
    found = accuracy(published(), *pictures(10_000))
    print(f"test accuracy {found:.4f}, published 0.9173")
    raise SystemExit(abs(found - 0.9173) > 0.02)

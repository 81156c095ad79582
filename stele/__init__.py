"""Stele: a deep-learning framework that compiles itself."""
from .compiled import compile
from .functions import *
from .gradient import grad, gradients, hessian, jvp, value_and_grad, vjp
from .handle import enable_grad, no_grad
from .ir.types import bfloat16, bool_, float16, float32, float64, int32, int64, uint8, uint32
from .pipeline import get_threads, set_threads
from .random import bernoulli, dropout, manual_seed, normal, rand, randint, randn, uniform
from .scan import scan
from .symbolic import function, placeholder
from .tensor import Tensor, tensor

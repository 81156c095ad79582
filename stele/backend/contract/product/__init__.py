"""Matrix products: how they are cut, and their kernels."""

"""Compiled functions and symbolic ones: their plans, and calls written out."""

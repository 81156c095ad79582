"""Candidates for products and convolutions, measured on this machine."""

"""Convolutions: sources of products on tiles."""

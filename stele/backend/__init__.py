"""What runs a graph: the reference backend, and the native ones."""

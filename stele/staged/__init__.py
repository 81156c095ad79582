"""Python's own if, while and for on tensors, as control of the graph."""

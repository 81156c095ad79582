"""The graph: types, values, text; knows no op."""

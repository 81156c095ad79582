"""Random programs of the public interface, what NumPy says of them, and how failures become small files."""

"""Exceptions that teach: what was asked, what came, where, what to write instead."""


class SteleError(Exception):
    """Base of every error that Stele raises on purpose."""


class ShapeError(SteleError, ValueError):
    """Shapes do not fit the operation."""


class DTypeError(SteleError, TypeError):
    """A dtype does not fit the operation."""


class GraphError(SteleError):
    """A graph breaks one of its invariants."""


class TraceError(SteleError):
    """A function cannot become a graph as it is written."""


class DataError(SteleError):
    """A file or an array from outside is not what it should be."""


class DeviceError(SteleError):
    """A device, its driver or its options cannot do what was asked."""


class IndexOutOfRange(SteleError, IndexError):
    """An index met at run time lies outside its axis."""


class Cancelled(SteleError):
    """A running program was asked to stop."""

"""Pictures, sound and video of files, as NumPy arrays that transforms and tensors take."""

from typing import TYPE_CHECKING, Any

from stele.arrays.spellings import unknown
from stele.interop.names import IO
from stele.io.pictures import imread, imsave
from stele.io.sound import read_audio, write_audio
from stele.io.video import read_video

__all__ = ["imread", "imsave", "read_audio", "read_video", "write_audio"]

if not TYPE_CHECKING:   # or every name would be one to a type checker
    def __getattr__(name: str) -> Any:
        """No such name; the error says which one there is."""
        if name.startswith("__"):
            raise AttributeError(name)
        raise unknown("stele.io", name, __all__, IO)


def __dir__() -> list[str]:
    """The public names alone."""
    return sorted(__all__)

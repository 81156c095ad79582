"""Every archive that can be downloaded: address, size, SHA-256, what it unpacks to."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Archive:
    """One file as its authors distribute it."""

    url: str
    size: int
    sha256: str

    @property
    def name(self) -> str:
        """The file name at the end of the address."""
        return self.url.rsplit("/", 1)[-1]


def _from(base: str, *files: tuple[str, int, str]) -> tuple[Archive, ...]:
    return tuple(Archive(f"{base}/{name}", size, sha256) for name, size, sha256 in files)


# fmt: off
ARCHIVES: dict[str, tuple[Archive, ...]] = {
    "cifar10": _from("https://www.cs.toronto.edu/~kriz",
        ("cifar-10-binary.tar.gz",    170052171, "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd")),
    "cifar10-python": _from("https://www.cs.toronto.edu/~kriz",
        ("cifar-10-python.tar.gz",    170498071, "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce")),
    "imdb": _from("https://ai.stanford.edu/~amaas/data/sentiment",
        ("aclImdb_v1.tar.gz",          84125825, "c40f74a18d3b61f90feba1e17730e0d38e8b97c05fde7008942e91923d1658fe")),
    "fashion-mnist": _from("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com",
        ("train-images-idx3-ubyte.gz", 26421880, "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"),
        ("train-labels-idx1-ubyte.gz",    29515, "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"),
        ("t10k-images-idx3-ubyte.gz",   4422102, "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"),
        ("t10k-labels-idx1-ubyte.gz",      5148, "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5")),
    "mnist": _from("https://storage.googleapis.com/cvdf-datasets/mnist",
        ("train-images-idx3-ubyte.gz",  9912422, "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"),
        ("train-labels-idx1-ubyte.gz",    28881, "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"),
        ("t10k-images-idx3-ubyte.gz",   1648877, "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"),
        ("t10k-labels-idx1-ubyte.gz",      4542, "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6")),
}
# fmt: on

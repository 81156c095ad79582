"""Every archive that can be downloaded: address, size, SHA-256, what it unpacks to.

Sums are those that TensorFlow Datasets and Hugging Face's `datasets` have recorded of the same files.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Archive:
    """One file as its authors distribute it."""

    url: str
    size: int
    sha256: str
    unpacked: int = 1 << 30     # bytes that it may become: the reviews of IMDB have 0.4 billion

    @property
    def name(self) -> str:
        """The file name at the end of the address."""
        return self.url.rsplit("/", 1)[-1]

    @property
    def is_packed(self) -> bool:
        """Whether it holds files; others are what is read."""
        return self.name.endswith((".tar.gz", ".zip"))


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
    "cifar100": _from("https://www.cs.toronto.edu/~kriz",
        ("cifar-100-binary.tar.gz",   168513733, "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec")),
    "svhn": _from("http://ufldl.stanford.edu/housenumbers",
        ("train_32x32.mat",           182040794, "435e94d69a87fde4fd4d7f3dd208dfc32cb6ae8af2240d066de1df7508d083b8"),
        ("test_32x32.mat",             64275384, "cdce80dfb2a2c4c6160906d0bd7c68ec5a99d7ca4831afa54f09182025b6a75b")),
    "stl10": (Archive("http://ai.stanford.edu/~acoates/stl10/stl10_binary.tar.gz",
                                     2640397119, "f31fd99273a1acb8609c8db427cebb1de3f71de77758cdc0e22956e1289b9866",
                      unpacked=4 << 30),),
    "ag_news": _from("https://raw.githubusercontent.com/mhjabreel/CharCnn_Keras/master/data/ag_news_csv",
        ("train.csv",                  29470338, "76a0a2d2f92b286371fe4d4044640910a04a803fdd2538e0f3f29a5c6f6b672e"),
        ("test.csv",                    1857427, "521465c2428ed7f02f8d6db6ffdd4b5447c1c701962353eb2c40d548c3c85699")),
    "sst2": _from("https://dl.fbaipublicfiles.com/glue/data",
        ("SST-2.zip",                   7439277, "d67e16fb55739c1b32cdce9877596db1c127dc322d93c082281f64057c16deaa")),
    "wikitext2": _from("https://wikitext.smerity.com",
        ("wikitext-2-v1.zip",           4475746, "92675f1d63015c1c8b51f1656a52d5bdbc33aafa60cc47a218a66e7ee817488c")),
    "tiny_shakespeare": _from("https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare",
        ("input.txt",                   1115394, "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed")),
    "iris": _from("https://archive.ics.uci.edu/ml/machine-learning-databases/iris",
        ("iris.data",                      4551, "6f608b71a7317216319b4d27b4d9bc84e6abd734eda7872b71a458569e2656c0")),
    "wine": _from("https://archive.ics.uci.edu/ml/machine-learning-databases/wine",
        ("wine.data",                     10782, "6be6b1203f3d51df0b553a70e57b8a723cd405683958204f96d23d7cd6aea659")),
    "adult": _from("https://archive.ics.uci.edu/ml/machine-learning-databases/adult",
        ("adult.data",                  3974305, "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d"),
        ("adult.test",                  2003153, "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05")),
}
# fmt: on

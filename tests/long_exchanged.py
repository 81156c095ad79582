"""Many examples with other arguments, in child processes under limits: `python -m tests.long_exchanged 20000`."""
from __future__ import annotations

from tests.children import Trials
from tests.exchanged import Exchange, exchange


def wrong(made: Exchange | None) -> str | None:
    """What is wrong with an exchange; nothing with none."""
    return made and made.fault()


EXCHANGES = Trials("tests.long_exchanged", "exchanges", exchange, wrong, lambda _: "an exchange", 320, 10 << 30, 1.0,
                   {"STELE_TRACEBACK": "full", "STELE_THREADS": "1"})

if __name__ == "__main__":
    raise SystemExit(EXCHANGES.main(__doc__, 20_000, "--seed"))

"""`python -m stele`: the command line."""
from stele.cli import main

if __name__ == "__main__":
    main()

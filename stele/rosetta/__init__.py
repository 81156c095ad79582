"""The Rosetta benchmark: the same workloads in several frameworks, held against each other."""

"""One class per op, one file per family; `ALL` is every op by name."""

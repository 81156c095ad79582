"""Models of one kind as those of another: what comes in, what goes out, and whether they compute the same."""

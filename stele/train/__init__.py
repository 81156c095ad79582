"""Training runs: options, reports, run folders, workloads."""

"""Matrix products and convolutions: sources, tiles, schedules and sinks (docs/contract.md)."""

"""The modules of `Benchmarks/run`."""

import Benchmark
import Items

let benchmarks: @Sendable () -> Void = {}

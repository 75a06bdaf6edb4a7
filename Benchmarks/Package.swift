// swift-tools-version: 6.2
import PackageDescription

let base = Target.Dependency.product(name: "SessionToolsBase", package: "SessionTools")
let sealed = Target.Dependency.product(name: "SealedStore", package: "SessionTools")

let package = Package(
  name: "SessionToolsBenchmarks",
  dependencies: [
    .package(name: "SessionTools", path: ".."),
    // Without its default trait, which counts allocations through jemalloc.
    .package(url: "https://github.com/ordo-one/benchmark", from: "1.38.1", traits: []),
  ],
  targets: [
    .target(name: "Items", dependencies: [base]),
    // The tool takes every executable directly below a folder "Benchmarks" for one of its own.
    .executableTarget(
      name: "StoreBenchmarks",
      dependencies: ["Items", base, sealed, .product(name: "Benchmark", package: "benchmark")],
      path: "StoreBenchmarks",
      plugins: [.plugin(name: "BenchmarkPlugin", package: "benchmark")]),
    .systemLibrary(name: "CMalloc"),
    .executableTarget(
      name: "store-workload", dependencies: ["CMalloc", "Items", base, sealed]),
    .executableTarget(
      name: "store-limit", path: "Limit", sources: ["main.c", "store.c"],
      linkerSettings: [.linkedLibrary("sodium")]),
  ]
)

// The same settings as in the measured package.
for target in package.targets where target.name != "store-limit" && target.type != .system {
  target.swiftSettings = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  ]
}

// swift-tools-version: 6.2
import PackageDescription

func sessionTools(_ product: String) -> Target.Dependency {
  .product(name: product, package: "SessionTools")
}

// A package of its own, because a trait is enabled for a whole package.
let package = Package(
  name: "ServerPackages",
  dependencies: [
    .package(name: "SessionTools", path: "../../..", traits: ["ServiceAdapters"]),
    .package(url: "https://github.com/apple/swift-log", from: "1.10.0"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.5.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.6.0"),
  ],
  targets: [
    .testTarget(
      name: "ServiceAdapterTests",
      dependencies: [
        .product(name: "InMemoryLogging", package: "swift-log"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "Metrics", package: "swift-metrics"),
        .product(name: "MetricsTestKit", package: "swift-metrics"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        sessionTools("SessionServiceAdapters"), sessionTools("SessionToolsBase"),
      ],
      path: "ServiceAdapterTests")
  ]
)

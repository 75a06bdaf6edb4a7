// swift-tools-version: 6.2
import PackageDescription

func sessionTools(_ product: String) -> Target.Dependency {
  .product(name: product, package: "SessionTools")
}

// A package of its own, because a trait is enabled for a whole package, and so that nothing else
// fetches and builds AsyncHTTPClient.
let package = Package(
  name: "ServerPackages",
  dependencies: [
    .package(name: "SessionTools", path: "../../..", traits: ["ServiceAdapters"]),
    .package(url: "https://github.com/swift-server/async-http-client", from: "1.25.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.80.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.10.0"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.5.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.6.0"),
  ],
  targets: [
    .testTarget(
      name: "OtherHTTPClientTests",
      dependencies: [
        .product(name: "AsyncHTTPClient", package: "async-http-client"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        sessionTools("SessionToolsBase"), sessionTools("WebLogin"),
      ],
      path: "OtherHTTPClientTests"),
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
      path: "ServiceAdapterTests"),
  ]
)

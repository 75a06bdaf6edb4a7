// swift-tools-version: 6.2
import PackageDescription

func sessionTools(_ product: String) -> Target.Dependency {
  .product(name: product, package: "SessionTools")
}

// A package of its own, because a trait is enabled for a whole package.
let package = Package(
  name: "ServerPackages",
  dependencies: [
    .package(
      name: "SessionTools", path: "../../..",
      traits: [
        "AsyncHTTPClient", "Configuration", "Hummingbird", "ServiceAdapters", "Tracing",
      ]),
    .package(url: "https://github.com/apple/swift-configuration", from: "1.0.0", traits: []),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.0.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.80.0"),
    .package(url: "https://github.com/swift-server/async-http-client", from: "1.25.0"),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.20.0", traits: []),
    .package(url: "https://github.com/apple/swift-log", from: "1.10.0"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.5.0"),
    .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.6.0"),
  ],
  targets: [
    .testTarget(
      name: "ServiceAdapterTests",
      dependencies: [
        .product(name: "InMemoryLogging", package: "swift-log"),
        .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "Metrics", package: "swift-metrics"),
        .product(name: "MetricsTestKit", package: "swift-metrics"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        .product(name: "Tracing", package: "swift-distributed-tracing"),
        sessionTools("SessionServiceAdapters"), sessionTools("SessionToolsBase"),
        sessionTools("SessionToolsTesting"),
      ],
      path: "ServiceAdapterTests"),
    // A whole service.
    .executableTarget(
      name: "ExampleService",
      dependencies: [
        .product(name: "AsyncHTTPClient", package: "async-http-client"),
        .product(name: "Configuration", package: "swift-configuration"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        sessionTools("DatabaseStore"), sessionTools("OAuthLogin"), sessionTools("SealedStore"),
        sessionTools("SessionServiceAdapters"), sessionTools("SessionToolsAsyncHTTPClient"),
        sessionTools("SessionToolsBase"), sessionTools("SessionToolsHummingbird"),
      ],
      path: "ExampleService"),
    .testTarget(
      name: "ExampleServiceTests",
      dependencies: [
        "ExampleService",
        .product(name: "AsyncHTTPClient", package: "async-http-client"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        sessionTools("DatabaseStore"), sessionTools("SealedStore"),
        sessionTools("SessionToolsBase"),
      ],
      path: "ExampleServiceTests"),
    .testTarget(
      name: "AsyncHTTPClientTests",
      dependencies: [
        .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
        .product(name: "Tracing", package: "swift-distributed-tracing"),
        sessionTools("OAuthLogin"), sessionTools("SessionToolsAsyncHTTPClient"),
        sessionTools("SessionToolsBase"),
      ],
      path: "AsyncHTTPClientTests"),
    .testTarget(
      name: "PersistDriverTests",
      dependencies: [
        .product(name: "Hummingbird", package: "hummingbird"),
        sessionTools("DatabaseStore"), sessionTools("SealedStore"),
        sessionTools("SessionToolsBase"), sessionTools("SessionToolsHummingbird"),
        sessionTools("SessionToolsTesting"),
      ],
      path: "PersistDriverTests"),
    .testTarget(
      name: "ConfigurationProviderTests",
      dependencies: [
        .product(name: "Configuration", package: "swift-configuration"),
        .product(name: "ConfigurationTesting", package: "swift-configuration"),
        sessionTools("SealedStore"), sessionTools("SessionToolsBase"),
        sessionTools("SessionToolsConfiguration"), sessionTools("SessionToolsTesting"),
      ],
      path: "ConfigurationProviderTests"),
  ]
)

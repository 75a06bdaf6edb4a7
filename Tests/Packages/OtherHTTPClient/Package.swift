// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that nothing else fetches and builds AsyncHTTPClient.
let package = Package(
  name: "OtherHTTPClient",
  dependencies: [
    .package(name: "SessionTools", path: "../../.."),
    .package(url: "https://github.com/swift-server/async-http-client", from: "1.25.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.80.0"),
  ],
  targets: [
    .testTarget(
      name: "OtherHTTPClientTests",
      dependencies: [
        .product(name: "AsyncHTTPClient", package: "async-http-client"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "SessionToolsBase", package: "SessionTools"),
        .product(name: "WebLogin", package: "SessionTools"),
      ],
      path: "OtherHTTPClientTests")
  ]
)

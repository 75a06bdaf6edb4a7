// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "Peers",
  dependencies: [.package(url: "https://github.com/apple/swift-crypto", from: "4.5.2")],
  targets: [
    .systemLibrary(name: "CLinux"),
    .executableTarget(
      name: "crypto-peer",
      dependencies: ["CLinux", .product(name: "Crypto", package: "swift-crypto")],
      // The same settings as in the package that is compared with this one.
      swiftSettings: [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
        .strictMemorySafety(),
        .treatWarning("StrictMemorySafety", as: .error),
      ]),
  ]
)

// swift-tools-version: 6.2
import PackageDescription

let argumentParser = Target.Dependency.product(
  name: "ArgumentParser", package: "swift-argument-parser")

// GTK is there only with the trait, without which all that needs it is empty.
let gtk = Target.Dependency.target(
  name: "CSessionToolsGTK", condition: .when(traits: ["GTKScenes"]))

func adapted(
  _ product: String, _ package: String, by trait: String = "ServiceAdapters"
) -> Target.Dependency {
  .product(name: product, package: package, condition: .when(traits: [trait]))
}

let package = Package(
  name: "SessionTools",
  products: [
    .library(name: "SessionTools", targets: ["SessionTools"]),
    .library(name: "SessionToolsBase", targets: ["SessionToolsBase"]),
    .library(name: "SecretStores", targets: ["SecretStores"]),
    .library(name: "SealedStore", targets: ["SealedStore"]),
    .library(name: "SecurityKeys", targets: ["SecurityKeys"]),
    .library(name: "DatabaseStore", targets: ["DatabaseStore"]),
    .library(name: "SecretServiceStore", targets: ["SecretServiceStore"]),
    .library(name: "StoreMigration", targets: ["StoreMigration"]),
    .library(name: "SessionAuthentication", targets: ["SessionAuthentication"]),
    .library(name: "SessionToolsTesting", targets: ["SessionToolsTesting"]),
    .library(name: "LinuxAuthentication", targets: ["LinuxAuthentication"]),
    .library(name: "OAuthLogin", targets: ["OAuthLogin"]),
    .library(name: "WebLogin", targets: ["WebLogin"]),
    .library(name: "GTKScenes", targets: ["GTKScenes"]),
    .library(name: "SessionServiceAdapters", targets: ["SessionServiceAdapters"]),
    .library(name: "SessionToolsAsyncHTTPClient", targets: ["SessionToolsAsyncHTTPClient"]),
    .library(name: "SessionToolsHummingbird", targets: ["SessionToolsHummingbird"]),
    .library(name: "SessionToolsConfiguration", targets: ["SessionToolsConfiguration"]),
    .executable(name: "session-tools", targets: ["session-tools"]),
  ],
  traits: [
    .trait(
      name: "ServiceAdapters",
      description: "Fetches what the product SessionServiceAdapters adapts to, and builds it."),
    .trait(
      name: "AsyncHTTPClient",
      description: "Fetches AsyncHTTPClient for SessionToolsAsyncHTTPClient."),
    .trait(name: "Tracing", description: "Fetches swift-distributed-tracing for spans."),
    .trait(
      name: "Hummingbird", description: "Fetches Hummingbird for SessionToolsHummingbird."),
    .trait(
      name: "Configuration",
      description: "Fetches swift-configuration for SessionToolsConfiguration."),
    .trait(name: "GTKScenes", description: "Builds the product GTKScenes, with libgtk-4-dev."),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.6.0"),
    .package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.4.0"),
    // Each of one trait or some, without which it is not fetched.
    .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.5.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.6.0"),
    .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.2.0"),
    .package(
      url: "https://github.com/hummingbird-project/hummingbird", from: "2.20.0", traits: []),
    .package(url: "https://github.com/swift-server/async-http-client", from: "1.25.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.80.0"),
    .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.30.0"),
    .package(url: "https://github.com/apple/swift-configuration", from: "1.0.0", traits: []),
  ],
  targets: [
    .systemLibrary(
      name: "CSessionToolsSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
    .target(name: "SecretStores", dependencies: ["CSessionToolsLinux"]),
    .target(name: "SessionToolsSessions", dependencies: ["CSessionToolsLinux", "SecretStores"]),
    // Both, under the name by which programs know them.
    .target(name: "SessionToolsBase", dependencies: ["SecretStores", "SessionToolsSessions"]),
    // Without a testing library, so that it works with any.
    .target(
      name: "SessionToolsTesting", dependencies: ["SessionAuthentication", "SessionToolsBase"]),
    .target(
      name: "SealedStore",
      dependencies: ["CSessionToolsLinux", "CSessionToolsSodium", "SecretStores"]),
    .systemLibrary(
      name: "CSessionToolsGIO", pkgConfig: "glib-2.0", providers: [.apt(["libglib2.0-dev"])]),
    .target(name: "SessionToolsDBus", dependencies: ["CSessionToolsGIO"]),
    // With GLib's flags alone, because those of libsecret and GIO lead to warnings.
    .systemLibrary(
      name: "CSessionToolsSecret", pkgConfig: "glib-2.0",
      providers: [.apt(["libsecret-1-dev"])]),
    .target(
      name: "SecretServiceStore",
      dependencies: [
        "CSessionToolsLinux", "CSessionToolsSecret", "SessionToolsDBus", "SecretStores",
      ]),
    // libsecret's own library for the same arithmetic, which needs no flags.
    .systemLibrary(name: "CSessionToolsGcrypt", providers: [.apt(["libgcrypt20-dev"])]),
    .target(
      name: "SessionToolsSecretService",
      dependencies: ["CSessionToolsGcrypt", "SecretStores", "SessionToolsDBus"]),
    .target(name: "StoreMigration", dependencies: ["SealedStore", "SecretStores"]),
    .target(name: "SessionAuthentication", dependencies: ["SessionToolsBase"]),
    .systemLibrary(
      name: "CSessionToolsFIDO2", pkgConfig: "libfido2", providers: [.apt(["libfido2-dev"])]),
    .target(
      name: "SecurityKeys",
      dependencies: ["CSessionToolsFIDO2", "SealedStore", "SecretStores", "SessionAuthentication"]),
    // Without pkg-config: PAM and libcurl need no flags, and their files of Debian 13 lead to
    // warnings.
    .systemLibrary(name: "CSessionToolsPAM"),
    .target(
      name: "LinuxAuthentication",
      dependencies: [
        "CSessionToolsLinux", "CSessionToolsPAM", "SessionToolsDBus", "SessionAuthentication",
        "SessionToolsBase",
      ]),
    .systemLibrary(name: "CSessionToolsCurl"),
    .target(
      name: "OAuthLogin",
      dependencies: ["CSessionToolsLinux", "CSessionToolsSodium", "SessionToolsBase"]),
    // With the desktop's browser, and an HTTP client.
    .target(
      name: "WebLogin",
      dependencies: ["CSessionToolsCurl", "OAuthLogin", "SessionToolsBase", "SessionToolsDBus"]),
    // Without a provider: SwiftPM would ask everyone to install GTK.
    .systemLibrary(
      name: "CSessionToolsGTK", pkgConfig: "gtk4"),
    .target(
      name: "GTKScenes",
      dependencies: [gtk, "SessionAuthentication", "SessionToolsBase"]),
    .systemLibrary(name: "CSessionToolsPQ", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
    .target(
      name: "DatabaseStore",
      dependencies: [
        "CSessionToolsLinux", "CSessionToolsPQ", "CSessionToolsSodium", "SealedStore",
        "SecretStores",
      ]),
    .target(
      name: "SessionTools",
      dependencies: [
        "SealedStore", "SecretServiceStore", "SessionToolsBase",
        // Its articles can link to the documentation of what it depends on directly.
        "SecretStores", "SessionToolsSessions",
      ]),
    // Empty without the trait.
    .target(
      name: "SessionServiceAdapters",
      dependencies: [
        "SessionToolsBase", adapted("Logging", "swift-log"), adapted("Metrics", "swift-metrics"),
        adapted("ServiceLifecycle", "swift-service-lifecycle"),
        adapted("Tracing", "swift-distributed-tracing", by: "Tracing"),
      ]),
    .target(
      name: "SessionToolsAsyncHTTPClient",
      dependencies: [
        "OAuthLogin", "SessionToolsBase",
        adapted("AsyncHTTPClient", "async-http-client", by: "AsyncHTTPClient"),
        adapted("NIOCore", "swift-nio", by: "AsyncHTTPClient"),
        adapted("NIOFoundationCompat", "swift-nio", by: "AsyncHTTPClient"),
        adapted("NIOHTTP1", "swift-nio", by: "AsyncHTTPClient"),
        adapted("NIOPosix", "swift-nio", by: "AsyncHTTPClient"),
        adapted("NIOSSL", "swift-nio-ssl", by: "AsyncHTTPClient"),
      ]),
    .target(
      name: "SessionToolsHummingbird",
      dependencies: [
        "SessionToolsBase", adapted("Hummingbird", "hummingbird", by: "Hummingbird"),
        adapted("ServiceLifecycle", "swift-service-lifecycle", by: "Hummingbird"),
      ]),
    .target(
      name: "SessionToolsConfiguration",
      dependencies: [
        "SessionToolsBase", adapted("Configuration", "swift-configuration", by: "Configuration"),
        adapted("ServiceLifecycle", "swift-service-lifecycle", by: "Configuration"),
      ]),
    .systemLibrary(name: "CSessionToolsLinux"),
    // The tool's, which starts faster, and on machines without a desktop.
    .target(name: "SessionToolsLazyLibraries"),
    // The tool, which tests and fuzz targets link as well.
    .target(
      name: "SessionToolsCommand",
      dependencies: [
        "CSessionToolsGIO", "CSessionToolsLinux", "CSessionToolsSecret", "DatabaseStore",
        "LinuxAuthentication", "SealedStore", "SecretServiceStore", "SecurityKeys",
        "SessionAuthentication", "SessionTools", "SessionToolsBase", "SessionToolsLazyLibraries",
        "SessionToolsSecretService", "StoreMigration", "WebLogin",
        argumentParser,
      ]),
    .executableTarget(
      name: "session-tools", dependencies: ["SessionToolsCommand"],
      exclude: ["install", "Installation"]),

    // Not in the benchmarks' own package, because they time what is not public.
    .target(
      name: "SessionToolsHotPathLimit", dependencies: ["CSessionToolsSodium"],
      path: "Benchmarks/Limit",
      sources: ["allocations.c", "store.c", "wrapping.c"], publicHeadersPath: "."),
    .executableTarget(
      name: "session-tools-hot-paths",
      dependencies: [
        "SessionToolsHotPathLimit", "SealedStore", "SessionAuthentication", "SessionToolsBase",
      ],
      path: "Benchmarks/HotPaths"),

    .systemLibrary(name: "CSessionToolsSpawn", path: "Tests/Support/CSpawn"),
    .systemLibrary(name: "CSessionToolsRegisters", path: "Tests/Support/CRegisters"),
    .target(
      name: "SessionToolsTestSupport", dependencies: ["CSessionToolsSpawn"],
      path: "Tests/Support/TestSupport"),
    .target(
      name: "SessionToolsTestStores", dependencies: ["SessionToolsBase"],
      path: "Tests/Support/TestStores"),
    .target(
      name: "SessionToolsTestThreads", dependencies: ["SessionToolsBase"],
      path: "Tests/Support/TestThreads"),
    .target(
      name: "SessionToolsBusTestSupport",
      dependencies: ["SessionToolsDBus", "SessionToolsTestSupport"],
      path: "Tests/Support/BusTestSupport"),
    .target(
      name: "SessionToolsOAuthTestSupport", dependencies: ["SessionToolsTestSupport"],
      path: "Tests/Support/OAuthTestSupport"),
    .testTarget(
      name: "SessionToolsTests",
      dependencies: [
        "SessionToolsOAuthTestSupport", "SessionTools", "SessionToolsTesting",
        "SessionToolsSessionWorker", "SessionToolsTestSupport", "SessionToolsTestThreads",
      ]),
    .executableTarget(
      name: "SessionToolsSessionWorker",
      dependencies: ["SealedStore", "SessionToolsBase", "SessionToolsTestStores", "WebLogin"],
      path: "Tests/Workers/SessionWorker"),
    .testTarget(
      name: "ReadmeTests",
      dependencies: [
        "SessionToolsBusTestSupport", "SessionToolsDatabaseServer", "DatabaseStore",
        "SessionToolsOAuthTestSupport", "SealedStore",
        "SessionAuthentication", "SessionTools", "SessionToolsTesting", "SessionToolsTestSupport",
        "SessionToolsTestThreads", "WebLogin", "session-tools",
      ]),
    .testTarget(
      name: "SessionToolsBaseTests",
      dependencies: [
        "CSessionToolsLinux", "CSessionToolsRegisters", "SessionToolsInstallRacer",
        "SessionToolsBase", "SessionToolsTesting", "SessionToolsTestStores",
        "SessionToolsTestSupport",
      ]),
    .testTarget(
      name: "SessionToolsTestingTests",
      dependencies: [
        "SealedStore", "SessionToolsBase", "SessionToolsTesting", "StoreMigration",
        "SessionToolsTestSupport",
      ]),
    .executableTarget(
      name: "SessionToolsInstallRacer", dependencies: ["SessionToolsBase"],
      path: "Tests/Workers/InstallRacer"),
    // Code of 2019, in the language mode of its time.
    .testTarget(
      name: "CompatibilityTests", dependencies: ["SessionTools"],
      swiftSettings: [.swiftLanguageMode(.v5)]),
    .target(
      name: "SessionToolsStoreTestSupport",
      dependencies: [
        "CSessionToolsSodium", "SealedStore", "SessionToolsBase", "SessionToolsTestSupport",
      ],
      path: "Tests/Support/StoreTestSupport"),
    // Without the library: the commit protocol as the text of the format says it.
    .target(name: "SessionToolsStoreModel", path: "Tests/Support/StoreModel"),
    .testTarget(
      name: "StoreModelTests", dependencies: ["SessionToolsStoreModel", "SessionToolsTestSupport"]),
    .target(
      name: "SessionToolsFuzzTargets",
      dependencies: [
        "CSessionToolsSodium", "SealedStore", "SessionToolsBase", "SessionToolsStoreTestSupport",
      ],
      path: "Tests/Tools/Fuzzing/Targets"),
    .target(
      name: "SessionToolsProgramFuzzTargets",
      dependencies: [
        "SecretServiceStore", "SessionToolsBase", "SessionToolsCommand",
        "SessionToolsFuzzTargets", "StoreMigration", "WebLogin", argumentParser,
      ],
      path: "Tests/Tools/Fuzzing/Program"),
    .executableTarget(
      name: "SessionToolsStoreWorker",
      dependencies: [
        "SealedStore", "SessionAuthentication", "SessionToolsBase", "SessionToolsStoreTestSupport",
        "SessionToolsTestSupport",
      ],
      path: "Tests/Workers/StoreWorker"),
    .testTarget(
      name: "SessionAuthenticationTests",
      dependencies: [
        "SealedStore", "SessionAuthentication", "SessionToolsBase", "SessionToolsTesting",
        "SessionToolsTestStores", "SessionToolsTestSupport",
      ]),
    .testTarget(
      name: "SealedStoreTests",
      dependencies: [
        "CSessionToolsSodium", "SessionToolsFuzzTargets", "SealedStore", "SessionToolsBase",
        "SessionToolsStoreModel", "SessionToolsStoreTestSupport", "SessionToolsStoreWorker",
        "SessionToolsTestSupport", "SessionToolsTestThreads",
      ]),
    .target(
      name: "SessionToolsSoftwareKeys", dependencies: ["SessionToolsTestSupport"],
      path: "Tests/Support/SoftwareKeys"),
    .executableTarget(
      name: "SessionToolsSecurityKeyWorker",
      dependencies: ["SealedStore", "SecurityKeys", "SessionAuthentication", "SessionToolsBase"],
      path: "Tests/Workers/SecurityKeyWorker"),
    .testTarget(
      name: "SecurityKeysTests",
      dependencies: [
        "SealedStore", "SessionToolsSecurityKeyWorker", "SecurityKeys", "SessionToolsBase",
        "SessionToolsSoftwareKeys", "SessionToolsTestSupport", "SessionToolsTestThreads",
      ]),
    .executableTarget(
      name: "SessionToolsDatabaseWorker",
      dependencies: [
        "DatabaseStore", "SealedStore", "SessionToolsBase", "SessionToolsStoreTestSupport",
      ],
      path: "Tests/Workers/DatabaseWorker"),
    .testTarget(
      name: "DatabaseStoreTests",
      dependencies: [
        "CSessionToolsSodium", "SessionToolsDatabaseServer", "DatabaseStore",
        "SessionToolsDatabaseWorker", "SealedStore", "SessionToolsBase", "SessionToolsTesting",
        "StoreMigration", "SessionToolsStoreTestSupport", "SessionToolsTestStores",
        "SessionToolsTestSupport", "SessionToolsTestThreads",
      ]),
    .testTarget(
      name: "StoreMigrationTests",
      dependencies: [
        "SealedStore", "SessionToolsBase", "SessionToolsCommand", "StoreMigration",
        "SessionToolsStoreTestSupport", "SessionToolsTestStores", "SessionToolsTestSupport",
        "SessionToolsTestThreads",
      ]),
    .testTarget(
      name: "SecretServiceStoreTests",
      dependencies: [
        "SessionToolsBusTestSupport", "SessionToolsDBus", "SessionToolsSandboxedApp", "SealedStore",
        "SecretServiceStore", "SessionTools", "SessionToolsBase", "SessionToolsTesting",
        "StoreMigration", "SessionToolsTestSupport", "session-tools",
      ],
      exclude: ["Transcripts"]),
    .executableTarget(
      name: "SessionToolsSandboxedApp", dependencies: ["SessionTools"],
      path: "Tests/Workers/SandboxedApp"),
    .executableTarget(
      name: "SessionToolsAuthenticationWorker",
      dependencies: [
        "CSessionToolsPAM", "LinuxAuthentication", "SessionAuthentication", "SessionToolsBase",
        "SessionToolsTestSupport",
      ],
      path: "Tests/Workers/AuthenticationWorker"),
    .testTarget(
      name: "LinuxAuthenticationTests",
      dependencies: [
        "SessionToolsAuthenticationWorker", "SessionToolsBusTestSupport", "SessionToolsDBus",
        "LinuxAuthentication", "SessionAuthentication", "SessionToolsBase",
        "SessionToolsTestSupport",
      ]),
    .testTarget(
      name: "WebLoginTests",
      dependencies: [
        "SessionToolsBusTestSupport", "SessionToolsDBus", "SessionToolsOAuthTestSupport",
        "SealedStore", "SessionAuthentication", "SessionToolsBase", "SessionToolsTesting",
        "SessionToolsTestStores", "SessionToolsTestSupport", "SessionToolsTestThreads", "WebLogin",
        "session-tools",
      ]),
    .executableTarget(
      name: "SessionToolsWindowWorker",
      dependencies: [
        gtk, "GTKScenes", "LinuxAuthentication", "SealedStore",
        "SessionAuthentication", "SessionToolsBase",
      ],
      path: "Tests/Workers/WindowWorker"),
    // The demo.
    .executableTarget(
      name: "SessionToolsMailReader",
      dependencies: [
        gtk, "GTKScenes", "LinuxAuthentication", "SealedStore",
        "SessionAuthentication", "SessionToolsBase", "WebLogin",
      ],
      path: "Tests/Workers/MailReader"),
    .testTarget(
      name: "GTKScenesTests",
      dependencies: [
        "SessionToolsBusTestSupport", "SessionToolsMailReader", "SessionToolsOAuthTestSupport",
        "SealedStore", "SessionToolsBase", "SessionToolsTestSupport", "SessionToolsTestThreads",
        "WebLogin", "SessionToolsWindowWorker",
      ]),
    .target(
      name: "SessionToolsDatabaseServer", dependencies: ["SessionToolsTestSupport"],
      path: "Tests/Support/DatabaseServer"),
    .testTarget(
      name: "DatabaseCommandTests",
      dependencies: [
        "SessionToolsDatabaseServer", "SealedStore", "SessionToolsBase", "SessionToolsTestSupport",
        "SessionToolsTestThreads",
        "session-tools",
      ],
      exclude: ["Transcripts"]),
    .testTarget(
      name: "CommandTests",
      dependencies: [
        "SessionToolsBusTestSupport", "SessionToolsFuzzTargets", "SessionToolsProgramFuzzTargets",
        "SessionToolsBase", "SessionToolsSoftwareKeys", "SessionToolsTestSupport",
        "SessionToolsTestThreads", "session-tools",
      ],
      exclude: ["Transcripts"]),
  ]
)

// Tests/Tools/Fuzzing/run alone builds this, because it links libFuzzer.
if Context.environment["SESSION_TOOLS_FUZZING"] != nil {
  package.targets += [
    .systemLibrary(name: "CSessionToolsLibFuzzer", path: "Tests/Tools/Fuzzing/CLibFuzzer"),
    .executableTarget(
      name: "SessionToolsFuzzer",
      dependencies: [
        "CSessionToolsLibFuzzer", "SessionToolsFuzzTargets", "SessionToolsProgramFuzzTargets",
      ],
      path: "Tests/Tools/Fuzzing/Fuzzer"),
  ]
}

// One set of rules for every Swift target but the one that stands for older programs: nothing
// existential, imported or unsafe goes unsaid.
for target in package.targets
where target.type != .system && target.name != "CompatibilityTests" {
  target.swiftSettings =
    (target.swiftSettings ?? []) + [
      .enableUpcomingFeature("ExistentialAny"),
      .enableUpcomingFeature("InternalImportsByDefault"),
      .enableUpcomingFeature("MemberImportVisibility"),
      .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
      .strictMemorySafety(),
      .treatWarning("StrictMemorySafety", as: .error),
    ]
}

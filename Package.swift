// swift-tools-version: 6.2
import PackageDescription

let argumentParser = Target.Dependency.product(
  name: "ArgumentParser", package: "swift-argument-parser")

func adapted(_ product: String, _ package: String) -> Target.Dependency {
  .product(name: product, package: package, condition: .when(traits: ["ServiceAdapters"]))
}

let package = Package(
  name: "SessionTools",
  products: [
    .library(name: "SessionTools", targets: ["SessionTools"]),
    .library(name: "SessionToolsBase", targets: ["SessionToolsBase"]),
    .library(name: "SealedStore", targets: ["SealedStore"]),
    .library(name: "SecurityKeys", targets: ["SecurityKeys"]),
    .library(name: "DatabaseStore", targets: ["DatabaseStore"]),
    .library(name: "SecretServiceStore", targets: ["SecretServiceStore"]),
    .library(name: "StoreMigration", targets: ["StoreMigration"]),
    .library(name: "SessionAuthentication", targets: ["SessionAuthentication"]),
    .library(name: "SessionToolsTesting", targets: ["SessionToolsTesting"]),
    .library(name: "LinuxAuthentication", targets: ["LinuxAuthentication"]),
    .library(name: "WebLogin", targets: ["WebLogin"]),
    .library(name: "GTKScenes", targets: ["GTKScenes"]),
    .library(name: "SessionServiceAdapters", targets: ["SessionServiceAdapters"]),
    .executable(name: "session-tools", targets: ["session-tools"]),
    .executable(name: "session-tools-database", targets: ["session-tools-database"]),
  ],
  traits: [
    .trait(
      name: "ServiceAdapters",
      description: "Fetches what the product SessionServiceAdapters adapts to, and builds it.")
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.6.0"),
    .package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.4.0"),
    // Of the trait ServiceAdapters alone.
    .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.5.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.6.0"),
  ],
  targets: [
    .systemLibrary(
      name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
    .target(name: "SecretStores", dependencies: ["CLinux"]),
    .target(name: "Sessions", dependencies: ["CLinux", "SecretStores"]),
    // Both, under the name by which programs know them.
    .target(name: "SessionToolsBase", dependencies: ["SecretStores", "Sessions"]),
    // Without a testing library, so that it works with any.
    .target(
      name: "SessionToolsTesting", dependencies: ["SessionAuthentication", "SessionToolsBase"]),
    .target(name: "SealedStore", dependencies: ["CLinux", "CSodium", "SecretStores"]),
    .systemLibrary(
      name: "CGIO", pkgConfig: "gio-2.0", providers: [.apt(["libglib2.0-dev"])]),
    .target(name: "DBus", dependencies: ["CGIO"]),
    .systemLibrary(
      name: "CSecret", pkgConfig: "libsecret-1", providers: [.apt(["libsecret-1-dev"])]),
    .target(
      name: "SecretServiceStore",
      dependencies: ["CLinux", "CSecret", "DBus", "SecretStores"]),
    .target(name: "StoreMigration", dependencies: ["SealedStore", "SecretStores"]),
    .target(name: "SessionAuthentication", dependencies: ["SessionToolsBase"]),
    .systemLibrary(
      name: "CFIDO2", pkgConfig: "libfido2", providers: [.apt(["libfido2-dev"])]),
    .target(
      name: "SecurityKeys",
      dependencies: ["CFIDO2", "SealedStore", "SecretStores", "SessionAuthentication"]),
    // Without pkg-config: PAM and libcurl need no flags, and their files of Debian 13 lead to
    // warnings.
    .systemLibrary(name: "CPAM"),
    .target(
      name: "LinuxAuthentication",
      dependencies: ["CPAM", "DBus", "SessionAuthentication", "SessionToolsBase"]),
    .systemLibrary(name: "CCurl"),
    .target(
      name: "WebLogin", dependencies: ["CCurl", "CLinux", "CSodium", "DBus", "SessionToolsBase"]),
    .systemLibrary(name: "CGTK", pkgConfig: "gtk4", providers: [.apt(["libgtk-4-dev"])]),
    .target(
      name: "GTKScenes", dependencies: ["CGTK", "SessionAuthentication", "SessionToolsBase"]),
    .systemLibrary(name: "CPQ", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
    .target(
      name: "DatabaseStore",
      dependencies: ["CLinux", "CPQ", "CSodium", "SealedStore", "SecretStores"]),
    .target(
      name: "SessionTools",
      dependencies: ["SealedStore", "SecretServiceStore", "SessionToolsBase"]),
    // Empty without the trait.
    .target(
      name: "SessionServiceAdapters",
      dependencies: [
        "SessionToolsBase", adapted("Logging", "swift-log"), adapted("Metrics", "swift-metrics"),
        adapted("ServiceLifecycle", "swift-service-lifecycle"),
      ]),
    .systemLibrary(name: "CLinux"),
    // The tool's, which starts faster, and on machines without a desktop.
    .target(name: "LazyLibraries"),
    // What both tools are made of.
    .target(
      name: "ToolBase",
      dependencies: [
        "CLinux", "LazyLibraries", "SealedStore", "SecretServiceStore", "SecurityKeys",
        "SessionTools", "SessionToolsBase", "StoreMigration", argumentParser,
      ]),
    .executableTarget(
      name: "session-tools",
      dependencies: [
        "CLinux", "LinuxAuthentication", "SealedStore", "SecretServiceStore",
        "SecurityKeys", "SessionAuthentication", "SessionTools", "SessionToolsBase",
        "StoreMigration", "ToolBase", "WebLogin", argumentParser,
      ]),
    // Alone with libpq, which session-tools never links.
    .executableTarget(
      name: "session-tools-database",
      dependencies: [
        "DatabaseStore", "SealedStore", "SessionTools", "SessionToolsBase", "StoreMigration",
        "ToolBase", argumentParser,
      ]),

    // Not in the benchmarks' own package, because they time what is not public.
    .target(
      name: "HotPathLimit", dependencies: ["CSodium"], path: "Benchmarks/Limit",
      sources: ["allocations.c", "store.c", "wrapping.c"], publicHeadersPath: "."),
    .executableTarget(
      name: "hot-paths",
      dependencies: ["HotPathLimit", "SealedStore", "SessionAuthentication", "SessionToolsBase"],
      path: "Benchmarks/HotPaths"),

    .systemLibrary(name: "CSpawn", path: "Tests/Support/CSpawn"),
    .target(name: "TestSupport", dependencies: ["CSpawn"], path: "Tests/Support/TestSupport"),
    .target(
      name: "TestStores", dependencies: ["SessionToolsBase"], path: "Tests/Support/TestStores"),
    .target(
      name: "TestThreads", dependencies: ["SessionToolsBase"], path: "Tests/Support/TestThreads"),
    .target(
      name: "BusTestSupport", dependencies: ["DBus", "TestSupport"],
      path: "Tests/Support/BusTestSupport"),
    .target(
      name: "OAuthTestSupport", dependencies: ["TestSupport"],
      path: "Tests/Support/OAuthTestSupport"),
    .testTarget(
      name: "SessionToolsTests",
      dependencies: [
        "OAuthTestSupport", "SessionTools", "SessionToolsTesting", "SessionWorker", "TestSupport",
        "TestThreads",
      ]),
    .executableTarget(
      name: "SessionWorker",
      dependencies: ["SealedStore", "SessionToolsBase", "TestStores", "WebLogin"],
      path: "Tests/Workers/SessionWorker"),
    .testTarget(
      name: "ReadmeTests",
      dependencies: [
        "BusTestSupport", "DatabaseServer", "DatabaseStore", "OAuthTestSupport", "SealedStore",
        "SessionAuthentication", "SessionTools", "SessionToolsTesting", "TestSupport",
        "TestThreads", "WebLogin", "session-tools", "session-tools-database",
      ]),
    .testTarget(
      name: "SessionToolsBaseTests",
      dependencies: [
        "InstallRacer", "SessionToolsBase", "SessionToolsTesting", "TestStores", "TestSupport",
      ]),
    .testTarget(
      name: "SessionToolsTestingTests",
      dependencies: [
        "SealedStore", "SessionToolsBase", "SessionToolsTesting", "StoreMigration", "TestSupport",
      ]),
    .executableTarget(
      name: "InstallRacer", dependencies: ["SessionToolsBase"], path: "Tests/Workers/InstallRacer"),
    // Code of 2019, in the language mode of its time.
    .testTarget(
      name: "CompatibilityTests", dependencies: ["SessionTools"],
      swiftSettings: [.swiftLanguageMode(.v5)]),
    .target(
      name: "StoreTestSupport",
      dependencies: ["CSodium", "SealedStore", "SessionToolsBase", "TestSupport"],
      path: "Tests/Support/StoreTestSupport"),
    // Without the library: the commit protocol as the text of the format says it.
    .target(name: "StoreModel", path: "Tests/Support/StoreModel"),
    .testTarget(name: "StoreModelTests", dependencies: ["StoreModel", "TestSupport"]),
    .target(
      name: "FuzzTargets",
      dependencies: ["CSodium", "SealedStore", "SessionToolsBase", "StoreTestSupport"],
      path: "Tests/Tools/Fuzzing/Targets"),
    // The program's sources once more: nothing can link an executable.
    .target(
      name: "ProgramFuzzTargets",
      dependencies: [
        "CLinux", "FuzzTargets", "LinuxAuthentication", "SealedStore", "SecretServiceStore",
        "SecurityKeys", "SessionAuthentication", "SessionTools", "SessionToolsBase",
        "StoreMigration", "ToolBase", "WebLogin", argumentParser,
      ],
      path: "Tests/Tools/Fuzzing/Program", exclude: ["Sources/main.swift"]),
    .executableTarget(
      name: "StoreWorker",
      dependencies: [
        "SealedStore", "SessionAuthentication", "SessionToolsBase", "StoreTestSupport",
        "TestSupport",
      ],
      path: "Tests/Workers/StoreWorker"),
    .testTarget(
      name: "SessionAuthenticationTests",
      dependencies: [
        "SealedStore", "SessionAuthentication", "SessionToolsBase", "SessionToolsTesting",
        "TestStores", "TestSupport",
      ]),
    .testTarget(
      name: "SealedStoreTests",
      dependencies: [
        "CSodium", "FuzzTargets", "SealedStore", "SessionToolsBase", "StoreModel",
        "StoreTestSupport", "StoreWorker", "TestSupport", "TestThreads",
      ]),
    .target(
      name: "SoftwareKeys", dependencies: ["TestSupport"], path: "Tests/Support/SoftwareKeys"),
    .executableTarget(
      name: "SecurityKeyWorker",
      dependencies: ["SealedStore", "SecurityKeys", "SessionAuthentication", "SessionToolsBase"],
      path: "Tests/Workers/SecurityKeyWorker"),
    .testTarget(
      name: "SecurityKeysTests",
      dependencies: [
        "SealedStore", "SecurityKeyWorker", "SecurityKeys", "SessionToolsBase", "SoftwareKeys",
        "TestSupport", "TestThreads",
      ]),
    .executableTarget(
      name: "DatabaseWorker",
      dependencies: ["DatabaseStore", "SealedStore", "SessionToolsBase", "StoreTestSupport"],
      path: "Tests/Workers/DatabaseWorker"),
    .testTarget(
      name: "DatabaseStoreTests",
      dependencies: [
        "CSodium", "DatabaseServer", "DatabaseStore", "DatabaseWorker", "SealedStore",
        "SessionToolsBase", "SessionToolsTesting", "StoreMigration", "StoreTestSupport",
        "TestStores", "TestSupport", "TestThreads",
      ]),
    .testTarget(
      name: "StoreMigrationTests",
      dependencies: [
        "SealedStore", "SessionToolsBase", "StoreMigration", "StoreTestSupport", "TestStores",
        "TestSupport", "TestThreads",
      ]),
    .testTarget(
      name: "SecretServiceStoreTests",
      dependencies: [
        "BusTestSupport", "DBus", "SandboxedApp", "SealedStore", "SecretServiceStore",
        "SessionTools", "SessionToolsBase", "SessionToolsTesting", "StoreMigration", "TestSupport",
        "session-tools",
      ],
      exclude: ["Transcripts"]),
    .executableTarget(
      name: "SandboxedApp", dependencies: ["SessionTools"], path: "Tests/Workers/SandboxedApp"),
    .executableTarget(
      name: "AuthenticationWorker",
      dependencies: [
        "CPAM", "LinuxAuthentication", "SessionAuthentication", "SessionToolsBase", "TestSupport",
      ],
      path: "Tests/Workers/AuthenticationWorker"),
    .testTarget(
      name: "LinuxAuthenticationTests",
      dependencies: [
        "AuthenticationWorker", "BusTestSupport", "DBus", "LinuxAuthentication",
        "SessionAuthentication", "SessionToolsBase", "TestSupport",
      ]),
    .testTarget(
      name: "WebLoginTests",
      dependencies: [
        "BusTestSupport", "DBus", "OAuthTestSupport", "SealedStore", "SessionAuthentication",
        "SessionToolsBase", "SessionToolsTesting", "TestStores", "TestSupport", "TestThreads",
        "WebLogin", "session-tools",
      ]),
    .executableTarget(
      name: "WindowWorker",
      dependencies: [
        "CGTK", "GTKScenes", "LinuxAuthentication", "SealedStore", "SessionAuthentication",
        "SessionToolsBase",
      ],
      path: "Tests/Workers/WindowWorker"),
    // The demo.
    .executableTarget(
      name: "MailReader",
      dependencies: [
        "CGTK", "GTKScenes", "LinuxAuthentication", "SealedStore", "SessionAuthentication",
        "SessionToolsBase", "WebLogin",
      ],
      path: "Tests/Workers/MailReader"),
    .testTarget(
      name: "GTKScenesTests",
      dependencies: [
        "BusTestSupport", "MailReader", "OAuthTestSupport", "SealedStore", "SessionToolsBase",
        "TestSupport", "TestThreads", "WebLogin", "WindowWorker",
      ]),
    .target(
      name: "DatabaseServer", dependencies: ["TestSupport"],
      path: "Tests/Support/DatabaseServer"),
    .testTarget(
      name: "DatabaseCommandTests",
      dependencies: [
        "DatabaseServer", "SealedStore", "SessionToolsBase", "TestSupport", "TestThreads",
        "session-tools", "session-tools-database",
      ],
      exclude: ["Transcripts"]),
    .testTarget(
      name: "CommandTests",
      dependencies: [
        "BusTestSupport", "FuzzTargets", "ProgramFuzzTargets", "SessionToolsBase", "SoftwareKeys",
        "TestSupport", "TestThreads", "session-tools",
      ],
      exclude: ["Transcripts"]),
  ]
)

// Tests/Tools/Fuzzing/run alone builds this, because it links libFuzzer.
if Context.environment["SESSION_TOOLS_FUZZING"] != nil {
  package.targets += [
    .systemLibrary(name: "CLibFuzzer", path: "Tests/Tools/Fuzzing/CLibFuzzer"),
    .executableTarget(
      name: "Fuzzer", dependencies: ["CLibFuzzer", "FuzzTargets", "ProgramFuzzTargets"],
      path: "Tests/Tools/Fuzzing/Fuzzer"),
  ]
}

// Tests/run --quick sets this variable, because it installs nothing: everything that needs GTK is
// left out.
if Context.environment["SESSION_TOOLS_WITHOUT_WINDOWS"] != nil {
  let windows = ["CGTK", "GTKScenes", "GTKScenesTests", "MailReader", "WindowWorker"]
  package.products.removeAll { $0.name == "GTKScenes" }
  package.targets.removeAll { windows.contains($0.name) }
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

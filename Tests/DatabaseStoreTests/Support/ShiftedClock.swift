import SessionToolsTestSupport

/// The library with which a program has another wall clock.
enum ShiftedClock {
  /// Builds the library.
  ///
  /// - Parameter directory: Where it is put.
  /// - Returns: Its path, for `LD_PRELOAD`.
  /// - Throws: The error of the compiler.
  static func library(in directory: TemporaryDirectory) async throws -> String {
    let library = directory["shifted_clock.so"]
    try await Program.run(
      "/usr/bin/cc",
      [
        "-shared", "-fPIC", "-o", library,
        "\(SourceDirectory.path)/Tests/Services/ShiftedClock/shifted_clock.c",
      ], environment: ["PATH": "/usr/bin:/bin"])
    return library
  }
}

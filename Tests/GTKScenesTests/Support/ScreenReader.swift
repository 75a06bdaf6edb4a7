#if GTKScenes
import SessionToolsBusTestSupport
import Foundation
import SessionToolsTestSupport

/// What a screen reader knows of a program.
struct ScreenReader: Sendable {
  private let program: String
  private let desktop: Desktop

  init(of program: String, on desktop: Desktop) {
    self.program = program
    self.desktop = desktop
  }

  /// Starts what programs are read by, on a bus without any other services.
  static func start(on bus: PrivateBus) async throws -> Daemon {
    try await bus.start(
      "/usr/libexec/at-spi-bus-launcher", ["--launch-immediately"], name: "org.a11y.Bus")
  }

  /// Returns all objects, each with its role, its name, and `focused` if it is; none of a program
  /// that is not there yet.
  func objects() async throws -> [String] {
    try await read().split(separator: "\n").map(String.init)
  }

  /// Returns whether an object is wholly inside of its window.
  func isInside(_ name: String) async throws -> Bool {
    try await read("inside", name) == "True\n"
  }

  /// Presses a button.
  func press(_ name: String) async throws { try await read("press", name) }

  /// Warnings of its own libraries do not end the reader, as those of GTK end the program.
  @discardableResult
  private func read(_ arguments: String...) async throws -> String {
    try await Program.run(
      "/usr/bin/python3",
      ["\(SourceDirectory.path)/Tests/Services/ScreenReader/reader.py", program] + arguments,
      environment: desktop.environment.filter { $0.key != "G_DEBUG" })
  }
}
#endif

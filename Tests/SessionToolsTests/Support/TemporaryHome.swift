import Foundation
import SessionToolsTestSupport

/// Runs a closure with a home of its own, for a process whose keychains are in the home.
func inTemporaryHome(_ body: (String) async throws -> Void) async throws {
  let directory = try TemporaryDirectory()
  useHome(directory.path)
  defer { withExtendedLifetime(directory) {} }
  try await body(directory.path)
}

/// Runs a closure with a home of its own, for a process whose keychains are in the home.
func inTemporaryHome(_ body: (String) throws -> Void) throws {
  let directory = try TemporaryDirectory()
  useHome(directory.path)
  defer { withExtendedLifetime(directory) {} }
  try body(directory.path)
}

/// Uses another home and no bus, to keep away from the user who runs the tests and their keyring.
private func useHome(_ path: String) {
  unsafe setenv("XDG_DATA_HOME", path, 1)
  unsafe setenv("XDG_RUNTIME_DIR", "/nonexistent", 1)
  unsafe unsetenv("DBUS_SESSION_BUS_ADDRESS")
}

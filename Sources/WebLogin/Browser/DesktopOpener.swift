package import Foundation

/// A program that opens addresses, as a process of its own.
package struct DesktopOpener: Browser {
  private let program: String
  /// What it sees besides what this process does.
  private let environment: [String: String]

  package init(_ program: String = "xdg-open", environment: [String: String] = [:]) {
    self.program = program
    self.environment = environment
  }

  /// Starts it, and waits until it ends or the task is cancelled, which leaves it running: it may be
  /// the browser itself.
  ///
  /// - Throws: `noBrowser` when it cannot be started or says that it failed.
  package func open(_ address: URL) async throws(WebLoginError) {
    let child: SpawnedProgram
    do {
      child = try SpawnedProgram(program, [address.absoluteString], environment: environment)
    } catch {
      throw .noBrowser("\(program) cannot be started")
    }
    let status = await child.status()
    guard let status, status != 0 else { return }
    throw .noBrowser("\(program) found no browser to open (status \(status))")
  }
}

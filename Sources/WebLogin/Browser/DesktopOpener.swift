package import Foundation

/// A program that opens addresses, started as a separate process.
package struct DesktopOpener: LoginBrowser {
  private let program: String
  /// Environment variables added to those of this process.
  private let environment: [String: String]

  package init(_ program: String = "xdg-open", environment: [String: String] = [:]) {
    self.program = program
    self.environment = environment
  }

  /// Starts the program, and waits until it ends or the task is cancelled.
  ///
  /// Cancellation leaves the program running, because it may be the browser itself.
  ///
  /// - Throws: `noBrowser` when it cannot be started or reports a failure.
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

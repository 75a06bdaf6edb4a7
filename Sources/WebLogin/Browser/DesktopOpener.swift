import Foundation

/// A program that opens addresses, as a process of its own.
struct DesktopOpener {
  let program: String

  /// Starts it, and waits until it ends or the task is cancelled, which leaves it running: it may be
  /// the browser itself.
  ///
  /// - Throws: `noBrowser` when it cannot be started or says that it failed.
  func open(_ address: URL) async throws(WebLoginError) {
    let child: SpawnedProgram
    do {
      child = try SpawnedProgram(program, [address.absoluteString])
    } catch {
      throw .noBrowser("\(program) cannot be started")
    }
    let status = await child.status()
    guard let status, status != 0 else { return }
    throw .noBrowser("\(program) found no browser to open (status \(status))")
  }
}

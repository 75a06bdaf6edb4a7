import Foundation
import SessionTools
import SessionToolsOAuthTestSupport
import SessionToolsTestSupport

/// A sealed store and an authorization server that processes share.
struct SharedSession: Sendable {
  let server: AuthlibServer
  let store: SealedFileStore
  private let directory: TemporaryDirectory
  private let keyPath: String

  init() throws {
    server = try AuthlibServer()
    directory = try TemporaryDirectory()
    keyPath = directory["key"]
    store = try SealedFileStore.create(
      at: directory["store"], key: KeyFile.create(at: keyPath))
  }

  /// Runs a worker until it exits, outside of the threads of Swift's tasks.
  func run(_ order: String, _ more: String...) async throws -> (lines: [String], status: Int32) {
    let arguments = [order, store.path, keyPath, server.address] + more
    return try await onThread {
      let outcome = try Program.outcome(
        of: [BuildDirectory.program("SessionToolsSessionWorker")] + arguments)
      return (outcome.text.split(separator: "\n").map(String.init), outcome.status)
    }
  }

  /// Starts a worker that is controlled by lines of input.
  func start(
    _ order: String, _ more: String...
  ) throws -> (Child, input: FileHandle, output: FileHandle) {
    try Child.piped(
      BuildDirectory.program("SessionToolsSessionWorker"),
      [order, store.path, keyPath, server.address] + more)
  }

  /// Returns the sequence number of the item that a worker stored last.
  func storedSequence() throws -> Int? {
    struct Stored: Decodable { let sequence: Int }
    guard let bytes = try store.value(for: ItemName("credentials", in: "worker")) else {
      return nil
    }
    return try JSONDecoder().decode(Stored.self, from: Data(bytes.copyBytes())).sequence
  }
}

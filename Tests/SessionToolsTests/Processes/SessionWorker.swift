import Foundation
import SessionTools
import OAuthTestSupport
import TestSupport

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
    return try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread {
        continuation.resume(with: Result { try Self.run(arguments) })
      }
    }
  }

  /// Starts a worker that is controlled by lines of input.
  func start(_ order: String, _ more: String...) throws -> (Process, input: Pipe, output: Pipe) {
    let (process, input, output) = (Process(), Pipe(), Pipe())
    process.executableURL = URL(filePath: BuildDirectory.program("SessionWorker"))
    process.arguments = [order, store.path, keyPath, server.address] + more
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    return (process, input, output)
  }

  private static func run(_ arguments: [String]) throws -> (lines: [String], status: Int32) {
    let (process, output) = (Process(), Pipe())
    process.executableURL = URL(filePath: BuildDirectory.program("SessionWorker"))
    process.arguments = arguments
    process.standardOutput = output
    try process.run()
    let said = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    let lines = String(decoding: said, as: UTF8.self).split(separator: "\n").map(String.init)
    let isKilled = process.terminationReason == .uncaughtSignal
    return (lines, isKilled ? -process.terminationStatus : process.terminationStatus)
  }

  /// Returns the sequence number of the item that a worker stored last.
  func storedSequence() throws -> Int? {
    struct Stored: Decodable { let sequence: Int }
    guard let bytes = try store.value(for: StoreKey("credentials", in: "worker")) else {
      return nil
    }
    return try JSONDecoder().decode(Stored.self, from: Data(bytes.copyBytes())).sequence
  }
}

import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsSoftwareKeys
import SessionToolsTestSupport

/// A store that opens with a key file, and programs that use it with security keys.
final class KeyStage: Sendable {
  private let directory: TemporaryDirectory
  var path: String { directory["store"] }
  var keyFile: KeyFile { KeyFile("\(path).key") }

  init() throws {
    directory = try TemporaryDirectory()
    _ = try SealedFileStore.create(at: path, key: KeyFile.create(at: "\(path).key"))
  }

  /// The header's bytes.
  var header: Data {
    get throws { try Data(contentsOf: URL(filePath: "\(path)/header")) }
  }

  /// Runs some steps while some keys are plugged in.
  ///
  /// - Returns: What the worker writes, line by line.
  func run(
    _ steps: String..., with keys: [SoftwareKey], timeout: Double = 30
  ) async throws -> [String] {
    try await Worker(self, steps, keys, timeout).end()
  }

  /// Starts some steps.
  func start(_ steps: String..., with keys: [SoftwareKey]) throws -> Worker {
    try Worker(self, steps, keys, 30)
  }

  /// A worker that runs.
  final class Worker: Sendable {
    private let child: Child
    private let input: FileHandle
    private let output: FileHandle

    fileprivate init(
      _ stage: KeyStage, _ steps: [String], _ keys: [SoftwareKey], _ timeout: Double
    ) throws {
      (child, input, output) = try Child.piped(
        BuildDirectory.program("SessionToolsSecurityKeyWorker"), [stage.path] + steps,
        environment: SoftwareKey.environment(of: keys)
          .merging(["TOUCH_TIMEOUT": "\(timeout)"]) { $1 })
    }

    deinit {
      child.kill()
    }

    func kill() {
      child.kill()
      child.waitUntilExit()
    }

    /// Writes a line to its input.
    func signal() throws {
      try input.write(contentsOf: Data("\n".utf8))
    }

    /// Waits until it has ended, and returns what it has written.
    func end() async throws -> [String] {
      try await onThread { [self] in
        let text = String(decoding: try output.readToEnd() ?? Data(), as: UTF8.self)
        let status = child.waitUntilExit()
        return text.split(separator: "\n").map(String.init)
          + (status == 0 ? [] : ["status \(status)"])
      }
    }
  }
}

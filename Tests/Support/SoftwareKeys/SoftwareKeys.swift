import Foundation
import Synchronization
import SessionToolsTestSupport

/// The program that serves security keys in software, one for all tests of a process.
package final class SoftwareKeys: Sendable {
  /// The library that makes a program find software keys, for `LD_PRELOAD`.
  package static let library = shared.directory["libfido2-with-software-keys.so"]

  static let shared: SoftwareKeys = {
    do {
      return try SoftwareKeys()
    } catch {
      preconditionFailure("software keys cannot be served: \(error)")
    }
  }()

  private let directory: TemporaryDirectory
  private let child: Child
  /// The program ends when its input does, at the latest with this process.
  private let input = Mutex<FileHandle?>(nil)
  private let output: FileHandle

  private init() throws {
    directory = try TemporaryDirectory()
    let sources = "\(SourceDirectory.path)/Tests/Services/SoftwareKey"
    let environment = [
      "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1",
    ]
    let compiler = try Child(
      "\(sources)/compile", [directory["libfido2-with-software-keys.so"]],
      environment: environment)
    precondition(compiler.waitUntilExit() == 0, "the library cannot be compiled")
    let input: FileHandle
    (child, input, output) = try Child.piped(
      "/usr/bin/python3", ["\(sources)/software_key.py"], environment: environment)
    self.input.withLock { $0 = input }
  }

  /// Serves one more key.
  func serve(_ directory: String, pin: String) throws {
    try input.withLock { input in
      try input?.write(contentsOf: Data("\(directory)\t\(pin)\n".utf8))
      // "ready" and a newline.
      var answer = Data()
      while answer.count < 6, let part = try output.read(upToCount: 6 - answer.count),
        !part.isEmpty
      {
        answer += part
      }
      guard answer == Data("ready\n".utf8) else { throw CocoaError(.fileReadUnknown) }
    }
  }
}

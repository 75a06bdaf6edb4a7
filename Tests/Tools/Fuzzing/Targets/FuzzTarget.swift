import Foundation

/// A function that takes any bytes and must not find a broken promise.
///
/// The fuzzer calls it with generated inputs, and a test calls it with those of the corpus.
package struct FuzzTarget: Sendable, CustomStringConvertible {
  /// The name of the target and of its corpus.
  package let name: String
  /// The length of the longest useful input.
  package let maximumByteCount: Int
  /// Checks an input; throws a ``Finding`` if a promise is broken.
  package let check: @Sendable ([UInt8]) throws -> Void

  package init(
    _ name: String, maximumByteCount: Int, check: @escaping @Sendable ([UInt8]) throws -> Void
  ) {
    self.name = name
    self.maximumByteCount = maximumByteCount
    self.check = check
  }

  package var description: String { name }

  /// The targets that do not need a program.
  package static let store = [
    FuzzTarget("header", maximumByteCount: 4096, check: HeaderTarget.check),
    FuzzTarget("journal", maximumByteCount: 2048, check: JournalTarget.check),
    FuzzTarget("plaintext", maximumByteCount: 1024, check: PlaintextTarget.check),
    FuzzTarget("canonical-name", maximumByteCount: 20_500, check: CanonicalNameTarget.check),
    FuzzTarget("reference", maximumByteCount: 1600, check: ReferenceTarget.check),
    FuzzTarget("names", maximumByteCount: 9000, check: NamesTarget.check),
  ]
}

/// A promise that an input broke.
package struct Finding: Error, CustomStringConvertible {
  package let description: String

  package init(_ description: String) {
    self.description = description
  }
}

/// Throws a finding unless a condition holds.
package func require(_ condition: Bool, _ otherwise: @autoclosure () -> String) throws(Finding) {
  guard condition else { throw Finding(otherwise()) }
}

extension FuzzTarget {
  /// An input of the corpus.
  package struct Input: Sendable {
    package let name: String
    package let bytes: [UInt8]
  }

  /// Returns a text for each input that breaks a promise.
  package func problems(with inputs: [Input]) -> [String] {
    inputs.compactMap { input in
      do {
        try check(input.bytes)
        return nil
      } catch {
        return "Corpus/\(name)/\(input.name): \(error)"
      }
    }
  }

  /// Reads the inputs in the corpus of this target.
  package func corpus() throws -> [Input] {
    let directory = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../Corpus/\(name)").standardizedFileURL
    return try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted().map {
      Input(name: $0, bytes: Array(try Data(contentsOf: directory.appending(path: $0))))
    }
  }
}

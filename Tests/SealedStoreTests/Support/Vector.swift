import Foundation
import SessionToolsBase
import SessionToolsStoreTestSupport
import SessionToolsTestSupport
import Testing

/// A file of `Tests/Data/Vectors`: a store directory and the answers that a reader must give for
/// it.
@dynamicMemberLookup struct Vector: Sendable, CustomTestStringConvertible {
  let name: String
  let head: VectorHead
  private(set) var files: [(name: String, content: [UInt8])] = []

  var testDescription: String { name }

  /// Whether opening must succeed, because the vector has answers that need an open store.
  var needsOpening: Bool {
    !head.reads.isEmpty || !head.findings.isEmpty || head.expectation == "success"
  }

  static let all: [Vector] = VectorHead.files(in: SourceDirectory.path + "/Tests/Data/Vectors")
    .map { name, lines in
      do {
        return try Vector(name: name, lines)
      } catch {
        preconditionFailure("\(name): \(error)")
      }
    }

  init(name: String, _ lines: ArraySlice<Substring>) throws {
    self.name = name
    var rest = lines
    head = try VectorHead(&rest)
    while let line = rest.popFirst() {
      if line.isEmpty, rest.isEmpty { break }
      let parts = line.split(separator: " ")
      guard parts.count == 3, parts[0] == "file:" else {
        throw VectorHead.ParsingError(line: String(line))
      }
      files.append((String(parts[1]), try VectorHead.take(parts[2], from: &rest)))
    }
  }

  subscript<Value>(dynamicMember part: KeyPath<VectorHead, Value>) -> Value {
    head[keyPath: part]
  }

  /// Writes the store.
  func write(to path: String) throws {
    let manager = FileManager.default
    try manager.createDirectory(
      atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    for (name, content) in files {
      _ = manager.createFile(
        atPath: "\(path)/\(name)", contents: Data(content),
        attributes: [.posixPermissions: 0o600])
    }
  }
}

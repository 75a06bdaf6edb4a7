import Foundation

/// What a disk and the kernel's cache above it hold after some recorded steps.
package struct RecordedDisk: Sendable {
  /// The files of a directory by their names.
  package typealias Content = [String: [UInt8]]

  /// One thing that may be found after a crash.
  package struct Crash: Sendable {
    package let what: String
    package let content: Content
  }

  private struct File {
    /// What a program reads.
    var content: [UInt8] = []
    /// What is on the disk for sure.
    var durable: [UInt8] = []
    /// Writes since the last sync.
    var unsynced: [(offset: Int, bytes: [UInt8])] = []
  }

  private static let sectorByteCount = 512

  private var files: [Int: File] = [:]
  private var names: [String: Int] = [:]
  private var durableNames: [String: Int] = [:]
  private var lastWritten: Int?

  /// An empty directory.
  package init() {}

  /// Goes on by one step.
  package mutating func perform(_ step: RecordedStep) {
    switch step {
    case .create(let name, let file):
      files[file] = File()
      names[name] = file
    case .write(let file, let offset, let bytes):
      change(file) { file in
        Self.write(bytes, at: offset, to: &file.content)
        file.unsynced.append((offset, bytes))
      }
      lastWritten = file
    case .truncate(let file, let byteCount):
      // A cut reaches the disk with the inode; taken as done at once, and so is what stands
      // before it, because what was cut off is of no more interest.
      change(file) { file in
        Self.resize(&file.content, to: byteCount)
        file.unsynced.removeAll { $0.offset >= byteCount }
        Self.cut(&file.durable, to: byteCount)
      }
    case .synchronize(let file):
      change(file) { file in
        for write in file.unsynced { Self.write(write.bytes, at: write.offset, to: &file.durable) }
        file.unsynced = []
        // What was extended without being written is zeros.
        Self.resize(&file.durable, to: file.content.count)
      }
    case .dropUnsynced(let file):
      change(file) { $0.unsynced = [] }
    case .synchronizeDirectory:
      durableNames = names
    case .rename(let name, let other):
      names[other] = names.removeValue(forKey: name)
    case .link(let name, let other):
      names[other] = names[name]
    case .remove(let name):
      names[name] = nil
    case .confirmed:
      break
    }
  }

  private mutating func change(_ number: Int, _ body: (inout File) -> Void) {
    var file = files[number, default: File()]
    body(&file)
    files[number] = file
  }

  /// What may be found when the program or the machine stops now.
  package var crashes: [Crash] {
    var crashes = [
      Crash(what: "the process died", content: names.compactMapValues { files[$0]?.content }),
      Crash(
        what: "a power cut took everything that was not synced",
        content: durableNames.compactMapValues { files[$0]?.durable }),
      Crash(
        what: "a power cut took content but no names",
        content: names.compactMapValues { files[$0]?.durable }),
    ]
    for torn in tornContents {
      crashes.append(
        Crash(
          what: torn.what,
          content: names.compactMapValues { $0 == lastWritten ? torn.content : files[$0]?.content }
        ))
    }
    return crashes
  }

  /// The file written last, with only some sectors of its last write.
  private var tornContents: [(what: String, content: [UInt8])] {
    guard let lastWritten, let file = files[lastWritten], let last = file.unsynced.last else {
      return []
    }
    var before = file.durable
    for write in file.unsynced.dropLast() {
      Self.write(write.bytes, at: write.offset, to: &before)
    }
    let end = last.offset + last.bytes.count
    // Sectors are counted in the file: the first one of a write may be shared with older bytes.
    let borders = Set(
      stride(
        from: (last.offset / Self.sectorByteCount + 1) * Self.sectorByteCount, to: end,
        by: Self.sectorByteCount))
    let all = borders.sorted()
    let chosen = all.count <= 3 ? all : [all[0], all[all.count / 2], all[all.count - 1]]
    return chosen.flatMap { border in
      var front = before
      Self.write(Array(last.bytes[..<(border - last.offset)]), at: last.offset, to: &front)
      var back = before
      Self.write(Array(last.bytes[(border - last.offset)...]), at: border, to: &back)
      return [
        ("the last write was torn behind byte \(border)", front),
        ("of the last write only what is behind byte \(border) arrived", back),
      ]
    }
  }

  private static func write(_ bytes: [UInt8], at offset: Int, to content: inout [UInt8]) {
    if content.count < offset + bytes.count { resize(&content, to: offset + bytes.count) }
    content.replaceSubrange(offset..<offset + bytes.count, with: bytes)
  }

  private static func resize(_ content: inout [UInt8], to byteCount: Int) {
    cut(&content, to: byteCount)
    content += [UInt8](repeating: 0, count: byteCount - content.count)
  }

  private static func cut(_ content: inout [UInt8], to byteCount: Int) {
    if content.count > byteCount { content.removeLast(content.count - byteCount) }
  }
}

extension RecordedDisk {
  /// Writes a directory of mode 0700 with files of mode 0600.
  package static func write(_ content: Content, to path: String) throws {
    let manager = FileManager.default
    try manager.createDirectory(
      atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    for (name, bytes) in content {
      guard
        manager.createFile(
          atPath: "\(path)/\(name)", contents: Data(bytes), attributes: [.posixPermissions: 0o600])
      else { throw CocoaError(.fileWriteUnknown) }
    }
  }

  /// Reads the files of a directory.
  package static func read(_ path: String) throws -> Content {
    var content: Content = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: path) {
      content[name] = Array(try Data(contentsOf: URL(filePath: "\(path)/\(name)")))
    }
    return content
  }
}

import Foundation

/// The contents of a disk and of the kernel's cache above it after some recorded steps.
///
/// ``CachedFile`` describes what is possible for files. In the directory, any of the creations,
/// renames, links and removals since its last sync may be missing, each as a whole. ext4 and XFS
/// log them in order, so that only the last ones can be missing; other file systems log the names
/// of one file without those of another. What holds for every choice holds for both kinds. Here,
/// a sync of a file does not make its name durable, although it does on ext4.
package struct RecordedDisk: Sendable {
  /// The files of a directory by their names.
  package typealias Content = MemoryFileSystem.Content

  /// A change of names.
  private enum NameChange {
    case set(String, file: Int)
    case rename(String, to: String, file: Int)
    case remove(String, file: Int?)
  }

  private(set) var files: [Int: CachedFile] = [:]
  private var names: [String: Int] = [:]
  private var durableNames: [String: Int] = [:]
  private var pending: [NameChange] = []
  /// Whether the directory itself may be missing.
  private(set) var mayBeMissing = false

  /// Creates a directory whose files are on the disk, numbered from 1 on in the order of their
  /// names.
  package init(_ content: Content = [:]) {
    for (position, name) in content.keys.sorted().enumerated() {
      files[position + 1] = CachedFile(content[name] ?? [])
      names[name] = position + 1
    }
    durableNames = names
  }

  /// Applies one step.
  package mutating func perform(_ step: RecordedStep) {
    switch step {
    case .makeDirectory:
      mayBeMissing = true
    case .synchronizeParent:
      mayBeMissing = false
    case .create(let name, let file):
      files[file] = CachedFile()
      names[name] = file
      pending.append(.set(name, file: file))
    case .write(let file, let offset, let bytes):
      files[file]?.write(bytes, at: offset)
    case .truncate(let file, let byteCount):
      files[file]?.truncate(to: byteCount)
    case .synchronize(let file, _):
      files[file]?.synchronize()
    case .dropUnsynced(let file):
      files[file]?.dropUnsynced()
    case .synchronizeDirectory:
      durableNames = names
      pending = []
    case .rename(let name, let other):
      guard let file = names.removeValue(forKey: name) else { return }
      names[other] = file
      pending.append(.rename(name, to: other, file: file))
    case .link(let name, let other):
      guard let file = names[name] else { return }
      names[other] = file
      pending.append(.set(other, file: file))
    case .remove(let name):
      pending.append(.remove(name, file: names.removeValue(forKey: name)))
    case .begun, .confirmed, .read, .moment:
      break
    }
  }

  /// Returns what programs read from a file.
  package func newestContent(of file: Int) -> [UInt8]? {
    guard let file = files[file] else { return nil }
    let versions = file.openSectors.map { file.sectors[$0].count - 1 }
    return file.content(byteCount: file.byteCounts.count - 1, versions: versions[...])
  }

  /// Returns the content of a file if only the writes known to have reached the disk did so.
  func oldestContent(of file: Int) -> [UInt8]? {
    guard let file = files[file] else { return nil }
    let versions = [Int](repeating: 0, count: file.openSectors.count)
    return file.content(byteCount: 0, versions: versions[...])
  }

  /// The number of changes of names that may be missing.
  var pendingCount: Int { pending.count }

  /// Returns the names when only some of the changes have reached the disk.
  func names(keeping kept: (Int) -> Bool) -> [String: Int] {
    var result = durableNames
    for (position, change) in pending.enumerated() where kept(position) {
      switch change {
      case .set(let name, let file):
        result[name] = file
      case .rename(let name, let other, let file):
        if result[name] == file { result[name] = nil }
        result[other] = file
      case .remove(let name, let file):
        if result[name] == file { result[name] = nil }
      }
    }
    return result
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

  /// Reads the files of a directory, leaving out the reserve of a store's journal unless it is
  /// asked for.
  package static func read(_ path: String, withReserve: Bool = false) throws -> Content {
    var content: Content = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: path) {
      content[name] = Array(try Data(contentsOf: URL(filePath: "\(path)/\(name)")))
    }
    if !withReserve, let journal = content["journal"], let mark = content["mark"] {
      content["journal"] = withoutReserve(journal, mark: mark)
    }
    return content
  }

  /// Returns a journal up to the end that its mark gives, if nothing but zeros follows.
  ///
  /// Tests can then append to the journal, or cut it, as if the store had no reserve.
  package static func withoutReserve(_ journal: [UInt8], mark: [UInt8]) -> [UInt8] {
    guard mark.count == 64, journal.count >= 64, mark[..<16] == journal[32..<48] else {
      return journal
    }
    let byteCount = mark[16..<24].reversed().reduce(0) { $0 << 8 | Int($1) }
    guard byteCount <= journal.count, journal[byteCount...].allSatisfy({ $0 == 0 }) else {
      return journal
    }
    return Array(journal[..<byteCount])
  }
}

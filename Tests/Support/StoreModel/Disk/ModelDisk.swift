/// The files of a store's directory that the protocol orders.
enum Name: Int, Hashable, Sendable, CaseIterable {
  case journal, nextJournal, mark, header, nextHeader

  /// Whether a file with this name is read after a crash.
  var isReadAfterCrash: Bool { self != .nextJournal }
}

/// The order in which changes of names reach the disk.
package enum NameOrder: Hashable, Sendable {
  /// The order in which they were made, as ext4 and XFS log them.
  case asMade
  /// Any order: each change may be missing by itself.
  case any
}

/// A directory and its files.
struct ModelDisk: Hashable, Sendable {
  private enum NameChange: Hashable, Sendable {
    case set(Name, file: Int)
    case rename(Name, to: Name, file: Int)
    case remove(Name, file: Int)
  }

  /// All files, including those without a name that a process has open.
  var files: [ModelFile] = []
  private var names = [Int?](repeating: nil, count: Name.allCases.count)
  private var durableNames = [Int?](repeating: nil, count: Name.allCases.count)
  private var pending: [NameChange] = []

  /// Returns the file with a name.
  subscript(name: Name) -> Int? { names[name.rawValue] }

  /// Whether a change of names is not on the disk yet.
  var hasPendingNames: Bool { !pending.isEmpty }

  /// Returns the first cell of the file with a name, or zero if there is no file.
  func content(_ name: Name) -> Cell { self[name].map { files[$0].content } ?? .zero }

  /// Creates an empty file, which replaces the file with that name.
  mutating func create(_ name: Name) -> Int {
    files.append(ModelFile())
    names[name.rawValue] = files.count - 1
    pending.append(.set(name, file: files.count - 1))
    return files.count - 1
  }

  mutating func rename(_ name: Name, to other: Name) {
    guard let file = self[name] else { return }
    names[name.rawValue] = nil
    names[other.rawValue] = file
    pending.append(.rename(name, to: other, file: file))
  }

  mutating func remove(_ name: Name) {
    guard let file = self[name] else { return }
    names[name.rawValue] = nil
    pending.append(.remove(name, file: file))
  }

  mutating func synchronizeNames() {
    durableNames = names
    pending = []
  }

  /// Stops the machine: some changes of names and some writes are lost.
  mutating func stop(_ order: NameOrder, _ run: inout Run) {
    let isKept: [Bool]
    switch order {
    case .asMade:
      let count = pending.isEmpty ? 0 : pending.count - run.pick(pending.count + 1)
      isKept = pending.indices.map { $0 < count }
    case .any:
      isKept = pending.map { _ in !run.flip() }
    }
    for (change, isKept) in zip(pending, isKept) where isKept {
      switch change {
      case .set(let name, let file):
        durableNames[name.rawValue] = file
      case .rename(let name, let other, let file):
        if durableNames[name.rawValue] == file { durableNames[name.rawValue] = nil }
        durableNames[other.rawValue] = file
      case .remove(let name, let file):
        if durableNames[name.rawValue] == file { durableNames[name.rawValue] = nil }
      }
    }
    pending = []
    for name in Name.allCases where !name.isReadAfterCrash { durableNames[name.rawValue] = nil }
    names = durableNames
    for number in Set(names.compactMap(\.self)).sorted() { files[number].stop(&run) }
  }
}

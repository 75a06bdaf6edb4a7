import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import Testing

/// A change that another user could make to a store's file.
enum Swap: String, CaseIterable {
  case readable, writable, foreign, linked, link, dangling, fifo, directory

  func perform(on path: String, in scratch: Scratch) throws {
    let manager = FileManager.default
    let aside = scratch["aside"]
    switch self {
    case .readable: #expect(unsafe chmod(path, 0o604) == 0)
    case .writable: #expect(unsafe chmod(path, 0o620) == 0)
    case .foreign: #expect(unsafe chown(path, 12345, 12345) == 0)
    case .linked: try manager.linkItem(atPath: path, toPath: aside)
    case .link:
      try manager.moveItem(atPath: path, toPath: aside)
      try manager.createSymbolicLink(atPath: path, withDestinationPath: aside)
    case .dangling:
      try manager.removeItem(atPath: path)
      try manager.createSymbolicLink(atPath: path, withDestinationPath: aside)
    case .fifo:
      try manager.removeItem(atPath: path)
      #expect(unsafe mkfifo(path, 0o600) == 0)
    case .directory:
      try manager.removeItem(atPath: path)
      try manager.createDirectory(
        atPath: path, withIntermediateDirectories: false,
        attributes: [.posixPermissions: 0o700])
    }
  }

  /// Whether the file's content still exists, so that the remedy fixes everything.
  var keepsContent: Bool {
    switch self {
    case .readable, .writable, .foreign, .linked, .link: true
    case .dangling, .fifo, .directory: false
    }
  }

  /// The changes that this process can make; only root can change the owner of a file.
  static var possible: [Swap] { allCases.filter { $0 != .foreign || geteuid() == 0 } }
}

@Suite struct FileCheckTests {
  let scratch: Scratch

  init() throws {
    scratch = try Scratch()
    try scratch.create().put("value", as: "item")
  }

  /// Uses the store so that all of its files are read.
  private func useEverything() throws(StoreError) {
    let store = try scratch.open()
    _ = try store.value(for: name("item"))
    _ = try store.verify()
  }

  @Test(arguments: storeFiles.sorted(), Swap.possible)
  func `a file that others could reach is refused with its path and the command that fixes it`(
    file: String, swap: Swap
  ) throws {
    let path = scratch.file(file)
    try swap.perform(on: path, in: scratch)
    let error = try error { try useEverything() }
    #expect(error.code == .unsafePermissions)
    #expect(error.store == path)
    if swap == .fifo { #expect(error.reason == "it is not a regular file") }
    guard swap != .dangling else { return }
    try runRemedy(of: error)
    let store = try scratch.open()
    let isRepaired = !swap.keepsContent && file == "mark"
    if !swap.keepsContent, file == "journal" || file == "mark" {
      // The content is lost, which must be reported.
      #expect(try code { _ = try store.value(for: name("item")) } == StoreError.corrupt)
      guard isRepaired else { return }
      #expect(try !store.repair().isEndConfirmed)
    }
    #expect(try store.text("item") == "value")
    #expect(try store.verify().findings.isEmpty || !swap.keepsContent)
    try store.put("new", as: "item")
    #expect(try store.verify().findings.filter { $0.part != .files } == [])
    #expect(try scratch.names().count { $0.hasPrefix("damaged-") } == (isRepaired ? 1 : 0))
  }

  @Test(arguments: [Swap.readable, .writable, .foreign])
  func `a directory that others could reach is refused with the command that fixes it`(
    swap: Swap
  ) throws {
    guard Swap.possible.contains(swap) else { return }
    try swap.perform(on: scratch.path, in: scratch)
    for attempt in [
      { try useEverything() }, { _ = try SealedFileStore.keySlots(at: scratch.path) },
    ] {
      let error = try error(attempt)
      #expect(error.code == .unsafePermissions)
      #expect(error.store == scratch.path)
    }
    try runRemedy(of: error { try useEverything() })
    if swap != .foreign { try runRemedy(of: chmodError()) }
    try useEverything()
  }

  /// Returns an error with the remedy for the mode of a directory.
  ///
  /// The mode is 0604 or 0620 after the swap; the actual remedy has already fixed that.
  private func chmodError() -> StoreError {
    StoreError(
      .unsafePermissions, store: scratch.path, reason: "",
      remedy: "Run chmod -R go= \(scratch.path)")
  }

  @Test(arguments: ["", "/", "///"])
  func `a link in the place of the directory is refused, however many slashes follow`(
    end: String
  ) throws {
    let link = scratch["link"]
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: scratch.path)
    for attempt in [
      { _ = try SealedFileStore.open(at: link + end, key: scratch.key) },
      { _ = try SealedFileStore.keySlots(at: link + end) },
      { _ = try SealedFileStore.exists(at: link + end) },
      { _ = try SealedFileStore.create(at: link + end, key: scratch.key) },
    ] {
      let error = try error(attempt)
      #expect(error.code == .unsafePermissions)
      #expect(error.store == link)
      #expect(error.reason.contains("symbolic link"))
    }
  }

  @Test func `a dangling link is not taken for an absent store`() throws {
    let link = scratch["link"]
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: scratch["gone"])
    for end in ["", "/"] {
      #expect(
        try code { _ = try SealedFileStore.exists(at: link + end) } == StoreError.unsafePermissions)
    }
  }

  @Test func `the directory itself opens with slashes at the end`() throws {
    let store = try SealedFileStore.open(at: scratch.path + "//", key: scratch.key)
    #expect(try store.text("item") == "value")
    #expect(store.path == scratch.path)
    #expect(try LinuxFileSystem().openDirectory("//").rawValue >= 0)
  }

  @Test(arguments: ["journal", "mark"], [Swap.link, .fifo, .readable, .linked])
  func `a file that is swapped while the store is open is refused too`(
    file: String, swap: Swap
  ) throws {
    let store = try scratch.open()
    let other = try scratch.open()
    try store.put("second", as: "item")
    try swap.perform(on: scratch.file(file), in: scratch)
    // The mode of an open file is checked when it is opened again.
    let code = try code {
      _ = try store.verify()
      try store.put("third", as: "item")
    }
    #expect(code == StoreError.unsafePermissions)
    let read = reading(other)
    #expect(read == "second" || read == "unsafePermissions" || read == "third")
  }

  private func reading(_ store: SealedFileStore) -> String? {
    do throws(StoreError) {
      return try store.text("item")
    } catch {
      return error.code.description
    }
  }

  @Test(arguments: ["header", "journal"])
  func `a file that is replaced while it is being opened is opened again`(file: String) throws {
    let other = try scratch.open()
    let isReplaced = Locked(false)
    let disk = FaultyFileSystem { call in
      guard call.kind == .status, call.name == file else { return nil }
      let isFirst = isReplaced.withLock { isReplaced in
        defer { isReplaced = true }
        return !isReplaced
      }
      if isFirst { try? other.rotate() }
      return nil
    }
    let store = try scratch.open(StoreEnvironment(fileSystem: disk))
    #expect(isReplaced.value)
    #expect(try store.text("item") == "value")
    #expect(disk.openNames.filter { $0 == "journal" }.count == 1)
  }

  @Test func `a file whose status cannot be read is not reported as absent`() throws {
    let files = LinuxFileSystem()
    let file = scratch["file"]
    #expect(FileManager.default.createFile(atPath: file, contents: nil))
    #expect(try files.status(of: scratch["absent"], in: .workingDirectory) == nil)
    #expect(throws: SystemCallError("statx", ENOTDIR)) {
      try files.status(of: "\(file)/below", in: .workingDirectory)
    }
    #expect(throws: SystemCallError("lseek", EBADF)) {
      try files.nextData(Descriptor(rawValue: -1), from: 0)
    }
  }

  @Test func `files on two devices are different even if their inode numbers are equal`() {
    let one = FileStatus(
      kind: .regular, permissions: 0o600, owner: 0, linkCount: 1, byteCount: 0, device: 1, inode: 1)
    var other = one
    #expect(one.isSameFile(as: other))
    other.device = 2
    #expect(!one.isSameFile(as: other))
  }

  @Test func `a remedy works for a path with blanks, quotes and dollars in it`() throws {
    let path = scratch["it's a \"$HOME\" store; echo"]
    try SealedFileStore.create(at: path, key: scratch.key).put("value", as: "item")
    for name in ["header", "journal", "mark", "lock"] {
      for mode: mode_t in [0o644, 0o666] {
        #expect(unsafe chmod("\(path)/\(name)", mode) == 0)
        let error = try error { _ = try SealedFileStore.open(at: path, key: scratch.key) }
        #expect(error.store == "\(path)/\(name)")
        try runRemedy(of: error)
      }
      try FileManager.default.linkItem(
        atPath: "\(path)/\(name)", toPath: scratch["link to \(name)"])
      try runRemedy(of: error { _ = try SealedFileStore.open(at: path, key: scratch.key) })
    }
    #expect(try SealedFileStore.open(at: path, key: scratch.key).text("item") == "value")
  }
}

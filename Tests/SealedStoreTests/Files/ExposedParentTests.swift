import Foundation
import SealedStore
import SessionToolsBase
import StoreTestSupport
import Testing

/// Directories above a store that others could put another store in.
@Suite struct ExposedParentTests {
  let scratch: Scratch
  let parent: String
  let store: String

  init() throws {
    scratch = try Scratch()
    parent = scratch["parent"]
    store = "\(parent)/between/store"
    try LinuxFileSystem().makeDirectories("\(parent)/between")
    try SealedFileStore.create(at: store, key: scratch.key).put("value", as: "item")
  }

  private func notices(at path: String) throws -> [StoreNotice] {
    let notices = Notices()
    let options = SealedFileStore.Options(onNotice: { notices.add($0) })
    #expect(
      try SealedFileStore.open(at: path, key: scratch.key, options: options).text("item") == "value"
    )
    return notices.all.filter { if case .parentExposed = $0 { true } else { false } }
  }

  @Test(arguments: [0o777, 0o707, 0o702] as [mode_t])
  func `one that everybody can write is reported with the command that mends it`(
    mode: mode_t
  ) throws {
    #expect(try notices(at: store) == [])
    #expect(unsafe chmod(parent, mode) == 0)
    let found = try notices(at: store)
    guard case .parentExposed(let reason, let remedy)? = found.first, found.count == 1 else {
      Issue.record("\(found)")
      return
    }
    #expect(reason == "others can write \(parent) (mode 0\(String(mode, radix: 8)))")
    #expect(remedy == "chmod o-w \(parent)")
    #expect("\(found[0])".contains(parent))
  }

  @Test(arguments: [0o1777, 0o755, 0o700] as [mode_t])
  func `one in which files can only be renamed by their owners is not`(mode: mode_t) throws {
    #expect(unsafe chmod(parent, mode) == 0)
    #expect(try notices(at: store) == [])
  }

  @Test func `one that a group can write is reported, unless it is the person's own group`() throws
  {
    guard geteuid() == 0 else { return }
    #expect(unsafe chmod(parent, 0o770) == 0)
    // root's own group has no other members.
    #expect(try notices(at: store) == [])
    #expect(unsafe chown(parent, 0, 12345) == 0)
    #expect(
      try notices(at: store) == [
        .parentExposed(
          reason: "its group can write \(parent) (mode 0770)", remedy: "chmod g-w \(parent)")
      ])
  }

  @Test func `one that belongs to another user is reported`() throws {
    guard geteuid() == 0 else { return }
    #expect(unsafe chown(parent, 12345, 0) == 0)
    #expect(
      try notices(at: store) == [
        .parentExposed(
          reason: "\(parent) belongs to another user (id 12345)", remedy: "chown 0 \(parent)")
      ])
  }

  @Test func `what is looked at is above the store, not above a link on the way to it`() throws {
    let open = scratch["open"]
    try LinuxFileSystem().makeDirectories(open)
    #expect(unsafe chmod(open, 0o777) == 0)
    try FileManager.default.createSymbolicLink(
      atPath: "\(open)/link", withDestinationPath: "\(parent)/between")
    #expect(try notices(at: "\(open)/link/store") == [])
    #expect(unsafe chmod(parent, 0o777) == 0)
    #expect(try notices(at: "\(open)/link/store").count == 1)
  }

  @Test func `one that cannot be looked at is not reported`() {
    let disk = FaultyFileSystem { $0.kind == .status ? .fail(EACCES) : nil }
    #expect(ExposedParent(above: store, fileSystem: disk) == nil)
    #expect(unsafe chmod(parent, 0o777) == 0)
    #expect(ExposedParent(above: store, fileSystem: LinuxFileSystem()) != nil)
    #expect(ExposedParent(above: scratch["absent"], fileSystem: LinuxFileSystem()) == nil)
  }

  @Test func `a user that a sandbox has no number for is not taken for another one`() {
    // These tests run where all users have numbers.
    #expect(CurrentProcess.isKnown(user: 65534))
    #expect(CurrentProcess.isKnown(user: 12345))
  }
}

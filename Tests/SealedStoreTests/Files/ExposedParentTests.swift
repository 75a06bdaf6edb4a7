import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import Testing

/// Tests of directories above a store in which others could replace the store.
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
  func `a directory that all users can write is reported with the command that fixes it`(
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
    #expect(remedy == "Run chmod o-w \(parent)")
    #expect("\(found[0])".contains(parent))
  }

  @Test(arguments: [0o1777, 0o755, 0o700] as [mode_t])
  func `a directory in which only owners can rename files is not reported`(mode: mode_t) throws {
    #expect(unsafe chmod(parent, mode) == 0)
    #expect(try notices(at: store) == [])
  }

  @Test func `a directory that a group can write is reported, unless it is the user's own group`()
    throws
  {
    guard geteuid() == 0 else { return }
    #expect(unsafe chmod(parent, 0o770) == 0)
    // root's own group has no other members.
    #expect(try notices(at: store) == [])
    #expect(unsafe chown(parent, 0, 12345) == 0)
    #expect(
      try notices(at: store) == [
        .parentExposed(
          reason: "its group can write \(parent) (mode 0770)", remedy: "Run chmod g-w \(parent)")
      ])
  }

  /// The script that starts a process for which a line describes root's group.
  private static let withGroup = """
    printf '%s\\n' "$1" >"$0" && mount --bind "$0" /etc/group && shift && exec "$@"
    """

  @Test(arguments: [
    ("root:x:0:", true), ("root:x:0:root", true), ("root:x:0:other", false),
    ("root:x:0:root,other", false), ("others:x:0:", false),
  ])
  func `a group is the user's own if it has the user's name and no other members`(
    group: String, isOwn: Bool
  ) throws {
    #expect(unsafe chmod(parent, 0o770) == 0)
    // In this sandbox the user is root.
    let worker = try Worker(
      "exposed", store,
      under: ["unshare", "-rm", "sh", "-c", Self.withGroup, scratch["group"], group])
    #expect(worker.line() == (isOwn ? "none" : "its group can write \(parent) (mode 0770)"))
  }

  @Test func `a directory of another user is reported, and not to be taken from that user`() throws
  {
    guard geteuid() == 0 else { return }
    #expect(unsafe chown(parent, 12345, 0) == 0)
    #expect(
      try notices(at: store) == [
        .parentExposed(
          reason: "\(parent) belongs to another user (id 12345)",
          remedy: "Move it to where only you and root can change the directories above it")
      ])
  }

  @Test func `the directories above the store are checked, not those above a link to it`() throws {
    let open = scratch["open"]
    try LinuxFileSystem().makeDirectories(open)
    #expect(unsafe chmod(open, 0o777) == 0)
    try FileManager.default.createSymbolicLink(
      atPath: "\(open)/link", withDestinationPath: "\(parent)/between")
    #expect(try notices(at: "\(open)/link/store") == [])
    #expect(unsafe chmod(parent, 0o777) == 0)
    #expect(try notices(at: "\(open)/link/store").count == 1)
  }

  @Test func `a directory whose status cannot be read is not reported`() {
    let disk = FaultyFileSystem { $0.kind == .status ? .fail(EACCES) : nil }
    #expect(ExposedParent(above: store, fileSystem: disk) == nil)
    #expect(unsafe chmod(parent, 0o777) == 0)
    #expect(ExposedParent(above: store, fileSystem: LinuxFileSystem()) != nil)
    #expect(ExposedParent(above: scratch["absent"], fileSystem: LinuxFileSystem()) == nil)
  }

  @Test func `a user that has no number in a sandbox is not taken for another user`() throws {
    // All users have numbers where these tests run.
    #expect(CurrentProcess.isKnown(user: 65534))
    #expect(CurrentProcess.isKnown(user: 12345))
    // Only the user of the tests has a number in this sandbox; others own the directories above.
    if geteuid() == 0 { #expect(unsafe chown(parent, 12345, 0) == 0) }
    #expect(try Worker("exposed", store, under: ["unshare", "-r"]).line() == "none")
  }

  static let maps: [(map: String, isMapped: Bool)] = [
    ("         0          0 4294967295\n", true), ("0 100000 65536\n", true),
    ("0 100000 65535\n", true), ("0 100000 65534\n", false), ("65534 100000 1\n", true),
    ("65535 100000 1\n", false), ("0 1000 1\n65534 5 1\n", true), ("0 1000 1\n", false),
    ("0 100000\n", false), ("", false),
  ]

  @Test(arguments: maps)
  func `user 65534 has a number if a line of the map covers it`(map: String, isMapped: Bool) {
    #expect(CurrentProcess.isMapped(user: 65534, by: map) == isMapped)
  }

  @Test func `every other user is known, whatever the map covers`() {
    // No map covers this number, which stands for no user.
    #expect(CurrentProcess.isKnown(user: .max))
  }
}

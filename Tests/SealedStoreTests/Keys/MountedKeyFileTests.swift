import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import SessionToolsTestSupport
import Testing

@Suite struct MountedKeyFileTests {
  let scratch: Scratch
  private let key = Data((0..<32).map { UInt8($0) })

  init() throws {
    scratch = try Scratch()
  }

  private func make(_ name: String, _ content: Data, mode: mode_t = 0o440) throws -> String {
    let path = scratch[name]
    try content.write(to: URL(filePath: path))
    try #require(unsafe chmod(path, mode) == 0)
    return path
  }

  private func link(_ name: String, to target: String) throws {
    try FileManager.default.createSymbolicLink(
      atPath: scratch[name], withDestinationPath: target)
  }

  /// Makes a volume as Kubernetes does, and returns the path of the key in it.
  private func makeVolume() throws -> String {
    try FileManager.default.createDirectory(
      atPath: scratch["volume/..1"], withIntermediateDirectories: true)
    try #require(unsafe chmod(scratch["volume"], 0o1777) == 0)
    _ = try make("volume/..1/key", key)
    try link("volume/..data", to: "..1")
    try link("volume/key", to: "..data/key")
    return scratch["volume/key"]
  }

  private func read(_ path: String, _ readers: MountedKeyFile.Readers = .group) throws {
    _ = try MountedKeyFile(path, readers: readers).makeSlot()
  }

  @Test func `a key of a volume opens a store, also after it was mounted again`() throws {
    let file = MountedKeyFile(try makeVolume())
    try SealedFileStore.create(at: scratch.path, key: file).put("value", as: "item")
    #expect(try SealedFileStore.open(at: scratch.path, key: file).text("item") == "value")
    try FileManager.default.createDirectory(
      atPath: scratch["volume/..2"], withIntermediateDirectories: false)
    _ = try make("volume/..2/key", key.base64EncodedData() + Data("\n".utf8))
    try link("volume/..data_tmp", to: "..2")
    try #require(unsafe rename(scratch["volume/..data_tmp"], scratch["volume/..data"]) == 0)
    #expect(try SealedFileStore.open(at: scratch.path, key: file).text("item") == "value")
    #expect(try SealedFileStore.keySlots(at: scratch.path)[0].label == "mounted key file")
  }

  @Test func `while the volume is replaced, the whole key is read each time`() async throws {
    let path = try makeVolume()
    let (volume, key) = (scratch["volume"], key)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        var number = 2
        while !Task.isCancelled {
          let next = "\(volume)/..\(number)"
          try FileManager.default.createDirectory(
            atPath: next, withIntermediateDirectories: false)
          try key.write(to: URL(filePath: "\(next)/key"))
          try #require(unsafe chmod("\(next)/key", 0o440) == 0)
          try FileManager.default.createSymbolicLink(
            atPath: "\(volume)/..data_tmp", withDestinationPath: "..\(number)")
          try #require(unsafe rename("\(volume)/..data_tmp", "\(volume)/..data") == 0)
          try FileManager.default.removeItem(atPath: "\(volume)/..\(number - 1)")
          number += 1
        }
      }
      defer { group.cancelAll() }
      // What is not a whole key is an error.
      for _ in 0..<2000 { try read(path) }
    }
  }

  @Test(arguments: [
    ("others may write it (mode 0460)", 0o460), ("others may write it (mode 0442)", 0o442),
    ("everyone may read it (mode 0444)", 0o444),
  ])
  func `a file that others may use is refused`(reason: String, mode: mode_t) throws {
    let path = try make("key", key, mode: mode)
    let refusal = try error { try read(path) }
    #expect(refusal.code == .unsafePermissions)
    #expect(refusal.reason == reason)
    #expect(try code { try read(path, .everyone) } == (mode == 0o444 ? nil : .unsafePermissions))
  }

  @Test(.enabled(if: geteuid() == 0, "only root may give files away"))
  func `what another user could replace is refused`() throws {
    let path = try makeVolume()
    func expectRefusal(_ reason: String) throws {
      let refusal = try error { try read(path) }
      #expect(refusal.code == .unsafePermissions)
      #expect(refusal.reason == reason)
    }
    try #require(unsafe chmod(scratch["volume"], 0o777) == 0)
    try expectRefusal("others may write its directory (mode 0777)")
    try #require(unsafe chmod(scratch["volume"], 0o1777) == 0)
    try #require(unsafe lchown(path, 12345, 0) == 0)
    try expectRefusal("its name belongs to another user (id 12345)")
    try #require(unsafe lchown(path, 0, 0) == 0 && chown(scratch["volume"], 12345, 0) == 0)
    try expectRefusal("its directory belongs to another user (id 12345)")
    try #require(unsafe chown(scratch["volume"], 0, 0) == 0 && chown(path, 65534, 0) == 0)
    try expectRefusal("it belongs to another user (id 65534)")
  }

  @Test func `what is no file with a key is refused at once`() throws {
    try #require(unsafe mkfifo(scratch["fifo"], 0o400) == 0)
    #expect(try error { try read(scratch["fifo"]) }.reason == "it is not a regular file")
    #expect(try error { try read(scratch[""]) }.reason == "it is not a regular file")
    #expect(try code { try read(scratch["absent"]) } == .keyMissing)
    try link("dangling", to: "absent")
    #expect(try code { try read(scratch["dangling"]) } == .keyMissing)
    try link("loop", to: "loop")
    #expect(try code { try read(scratch["loop"]) } != nil)
    let text = key.base64EncodedString()
    let wrong = [
      "", "x", String(text.dropLast()) + "*", String(text.dropLast(4)), text + "\n\n", text + " ",
    ]
    for content in wrong {
      let path = try make("key", Data(content.utf8), mode: 0o600)
      #expect(try code { try read(path) } == .invalidKey, "\(content.count) characters")
    }
    for byteCount in [31, 33, 44, 45, 10_000] {
      let path = try make("key", Data(repeating: 0xFF, count: byteCount), mode: 0o600)
      #expect(try code { try read(path) } == .invalidKey, "\(byteCount) bytes")
    }
  }

  /// In a process of its own: its environment is changed.
  @Test func `a key of the environment is gone once it was taken`() async {
    await #expect(processExitsWith: .success) {
      let text = Data(repeating: 9, count: 32).base64EncodedString()
      func take(_ value: String) throws -> RawKey {
        unsafe setenv("STORE_KEY", value, 1)
        return try RawKey(takingFromEnvironment: "STORE_KEY")
      }
      unsafe setenv("STORE_KEY", text, 1)
      let place = unsafe getenv("STORE_KEY")!
      let key = try RawKey(takingFromEnvironment: "STORE_KEY")
      let scratch = try Scratch()
      _ = try SealedFileStore.create(at: scratch.path, key: key)
      _ = try SealedFileStore.open(
        at: scratch.path, key: RawKey(SecretBytes(Data(repeating: 9, count: 32))))
      #expect(unsafe UnsafeBufferPointer(start: place, count: 44).allSatisfy { $0 == 0 })
      #expect(unsafe getenv("STORE_KEY") == nil)
      #expect(
        try code { _ = try RawKey(takingFromEnvironment: "STORE_KEY") } == StoreError.keyMissing)
      for value in ["", "secret", text + "=", String(repeating: "x", count: 32) + "y"] {
        #expect(try code { _ = try take(value) } == StoreError.invalidKey)
        #expect(unsafe getenv("STORE_KEY") == nil)
      }
    }
  }
}

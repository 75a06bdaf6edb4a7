import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsTestThreads
import Testing

@Suite(.onOwnThread) struct ManyProcessTests {
  let scratch: Scratch
  let key: String

  init() throws {
    scratch = try Scratch()
    key = try scratch.writeKeyFile()
    _ = try scratch.create()
  }

  private func worker(_ command: String, _ rest: String...) throws -> Worker {
    try Worker(arguments: [command, scratch.path, key] + rest)
  }

  private func item(_ identifier: String) throws -> ItemName {
    try ItemName(identifier, in: "worker")
  }

  @Test func `four processes write 500 changes each, and none is lost or partially visible`()
    throws
  {
    let names = ["a", "b", "c", "d"]
    let reader = try Worker(arguments: ["read", scratch.path, key] + names)
    #expect(reader.line() == "ready")
    let writers = try names.map { try worker("write", $0, "1", "500", "200") }
    for writer in writers {
      #expect(writer.lines() == ["ready"] + (1...500).map { "\($0)" })
      #expect(writer.wait() == 0)
    }
    try reader.endInput()
    let report = reader.lines()
    #expect(reader.wait() == 0, "\(report)")
    #expect((report.last.flatMap { Int($0) } ?? 0) > 100)

    let store = try scratch.open()
    #expect(try store.names(in: nil).count == 4 * 502)
    for name in names {
      for number in 1...500 {
        #expect(try store.value(for: item("\(name)/\(number)")) == secret("\(number)"))
      }
    }
    #expect(try store.verify().findings == [])
  }

  @Test func `readers and writers of several processes work while one compacts and rotates`()
    throws
  {
    let reader = try Worker(arguments: ["read", scratch.path, key, "a", "b"])
    #expect(reader.line() == "ready")
    let writers = try ["a", "b"].map { try worker("write", $0, "1", "150", "20000") }
    let store = try scratch.open()
    for round in 0..<10 {
      if round.isMultiple(of: 2) { try store.rotate() } else { try store.compact() }
    }
    for writer in writers {
      #expect(writer.lines().count == 151)
      #expect(writer.wait() == 0)
    }
    try reader.endInput()
    let report = reader.lines()
    #expect(reader.wait() == 0, "\(report)")
    #expect(try store.names(in: nil).count == 2 * 152)
    #expect(try store.verify().findings == [])
    #expect(try scratch.names() == storeFiles)
  }

  @Test func `a counter that four processes increment with exclusive access is exact`() throws {
    let file = scratch["counter"]
    try Data("0".utf8).write(to: URL(filePath: file))
    let workers = try (0..<4).map { _ in try worker("count", file, "100") }
    for worker in workers {
      #expect(worker.lines() == ["done"])
      #expect(worker.wait() == 0)
    }
    #expect(try String(contentsOfFile: file, encoding: .utf8) == "400")
  }

  @Test func `exclusive access times out while another process holds it, until that process dies`()
    throws
  {
    let store = try scratch.open()
    let counter = try item("counter")
    let holder = try worker("hold")
    #expect(holder.line() == "held")
    #expect(
      try code { try store.withExclusiveAccess(to: counter, timeout: .milliseconds(50)) {} }
        == StoreError.timedOut)
    try store.withExclusiveAccess(to: item("another"), timeout: .zero) {}
    // Plain changes are not blocked.
    try store.put(secret("value"), for: counter)
    holder.kill()
    #expect(holder.wait() == -SIGKILL)
    try store.withExclusiveAccess(to: counter, timeout: .zero) {}

    let another = try worker("hold")
    #expect(another.line() == "held")
    try another.send()
    #expect(another.lines() == ["released"])
    try store.withExclusiveAccess(to: counter, timeout: .zero) {}
  }

  @Test func `a writer that waits too long for another process gives up and has changed nothing`()
    throws
  {
    var options = SealedFileStore.Options()
    options.lockTimeout = .milliseconds(50)
    let impatient = try SealedFileStore.open(at: scratch.path, key: scratch.key, options: options)
    let other = try scratch.open()
    let code = Locked<StoreError.Code?>(nil)
    // The writer's lock is held while the caller decides about a revocation.
    try other.revoke(keeping: [scratch.key]) { _ in
      let outcome = Result { try impatient.put("value", as: "item") }
      if case .failure(let error as StoreError) = outcome { code.withLock { $0 = error.code } }
      return false
    }
    #expect(code.value == StoreError.timedOut)
    #expect(try other.text("item") == nil)
    try impatient.put("value", as: "item")
  }
}

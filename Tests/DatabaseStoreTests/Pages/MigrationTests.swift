import SessionToolsDatabaseServer
import DatabaseStore
import SealedStore
import SessionToolsBase
import StoreMigration
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Moving all items of a sealed file store into a database, and back.
@Suite(.onOwnThread) struct `a migration to a database` {
  private typealias Contents = [ItemName: SecretBytes]

  private let directory: TemporaryDirectory
  private let file: SealedFileStore
  private let options: MigrationOptions

  init() throws {
    directory = try TemporaryDirectory()
    file = try SealedFileStore.create(at: directory["file"], key: RawKey(RawKey.random()))
    var options = MigrationOptions()
    options.deletesSource = true
    options.allowsWeakerProtection = true
    self.options = options
  }

  /// Makes a store that keeps how far a migration is.
  private func journal(_ name: String) throws -> SealedFileStore {
    try SealedFileStore.create(at: directory[name], key: RawKey(RawKey.random()))
  }

  private func contents(_ store: any SecretStore) throws -> Contents {
    var contents: Contents = [:]
    for name in try store.names(in: nil) { contents[name] = try store.value(for: name) }
    return contents
  }

  /// Puts items of several namespaces and sizes into the file.
  private func fill(_ count: Int) throws -> Contents {
    var items: Contents = [:]
    for number in 0..<count {
      let namespace = try StoreNamespace(
        service: number.isMultiple(of: 2) ? "svc" : "günther",
        accessGroup: number.isMultiple(of: 3) ? "group" : nil)
      let bytes = [UInt8](repeating: UInt8(number % 251), count: number * 37 % 1000)
      items[try ItemName("item \(number) \u{1F511}", in: namespace)] = SecretBytes(bytes)
    }
    let largest = [UInt8](repeating: 7, count: SealedDatabaseStore.maximumValueByteCount)
    items[try ItemName("large", in: "svc")] = SecretBytes(largest)
    try file.apply(items.map { .put($0.value, for: $0.key) })
    return items
  }

  @Test func `and its reverse change nothing`() async throws {
    let made = try await StoreOnServer()
    try await onThread {
      let items = try fill(TestSize.choose(small: 100, medium: 300, large: 20_000))
      let there = Migration(
        from: file, to: made.store, journal: try journal("there"), options: options)
      #expect(try there.run().isComplete)
      #expect(try contents(file).isEmpty)
      #expect(try contents(made.store) == items)
      let back = Migration(
        from: made.store, to: file, journal: try journal("back"), options: options)
      #expect(try back.run().isComplete)
      #expect(try contents(made.store).isEmpty)
      #expect(try contents(file) == items)
    }
  }

  /// The line breaks for longer than an operation may take, and the migration is resumed later.
  @Test func `goes on wherever the line was lost`() async throws {
    let made = try await StoreOnServer()
    let server = try await DatabaseServer.shared()
    let proxy = try FaultProxy(to: server.port)
    var location = made.location
    location.address = server.address(port: proxy.port, "sslmode=disable")
    location.options.operationTimeout = .milliseconds(500)
    let lost = location
    try await onThread {
      let items = try fill(30)
      let step = TestSize.choose(small: 40, medium: 40, large: 1)
      for message in stride(from: 1, to: 80, by: step) {
        let there = try journal("there \(message)")
        proxy.plan(.blackHole, at: message, .toServer)
        let store = try? lost.reopened()
        if let store {
          _ = try? Migration(from: file, to: store, journal: there, options: options).run()
        }
        proxy.plan(nil)
        let migration = Migration(from: file, to: made.store, journal: there, options: options)
        if try migration.state() == nil {
          #expect(try migration.run().isComplete, "\(message)")
        } else {
          #expect(try migration.resume().isComplete, "\(message)")
        }
        #expect(try contents(made.store) == items, "\(message)")
        #expect(try contents(file).isEmpty, "\(message)")
        let back = Migration(
          from: made.store, to: file, journal: try journal("back \(message)"), options: options)
        #expect(try back.run().isComplete)
      }
    }
  }
}

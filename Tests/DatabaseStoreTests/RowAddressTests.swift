import DatabaseStore
import SealedStore
import SessionToolsBase
import Testing

@Suite struct RowAddressTests {
  private let keys: DatabaseKeys

  init() throws {
    keys = try SealedDatabase().keys
  }

  private static let refresh = "org.session-tools.refresh:"

  @Test(arguments: ["i", "\u{301}", refresh, refresh + "i", String(repeating: "i", count: 4096)])
  func `the lease on a refresh is at the item's shard`(identifier: String) throws {
    let item = try name(identifier, group: "group")
    #expect(keys.leaseAddress(of: item.refreshLock).shard == keys.address(of: item).shard)
  }

  @Test(arguments: ["i", refresh, "org.session-tools.change:i"])
  func `the lease on another name is at the shard of an item of this name`(
    identifier: String
  ) throws {
    let item = try name(identifier, group: "group")
    #expect(keys.leaseAddress(of: item).shard == keys.address(of: item).shard)
    #expect(keys.leaseAddress(of: item).tag != keys.leaseAddress(of: item.refreshLock).tag)
  }

  @Test func `a name like that of a refresh has the lease of that refresh`() throws {
    let item = try name("i")
    let lease = try keys.leaseAddress(of: name(Self.refresh + "i"))
    #expect(lease == keys.leaseAddress(of: item.refreshLock))
  }

  @Test func `shards are spread over all 16 bits`() throws {
    let shards = Set(try (0..<500).map { try keys.address(of: name("\($0)")).shard.number })
    #expect(shards.count > 480)
    #expect(shards.contains { $0 < 0 } && shards.contains { $0 > 255 })
  }

  @Test func `a namespace is one group of rows, and its service and group the first half of it`()
    throws
  {
    let item = try name("item", group: "group", install: "install")
    let other = try name("other", group: "group", install: "install")
    let hash = keys.address(of: item).namespace
    #expect(keys.address(of: other).namespace == hash)
    #expect(keys.hash(of: item.namespace) == hash)

    let elsewhere = try keys.address(of: name("item", group: "group", install: "another")).namespace
    #expect(elsewhere.bytes.low == hash.bytes.low)
    #expect(elsewhere.bytes.high != hash.bytes.high)
    for item in [
      try name("item", group: "groups", install: "install"),
      try name("item", install: "install"), try name("item", service: "svcg", group: "roup"),
    ] {
      #expect(keys.address(of: item).namespace.bytes.low != hash.bytes.low)
    }
  }

  @Test func `a lease has another tag than its item, and each store has other addresses`() throws {
    let name = try name("item")
    let address = keys.address(of: name)
    #expect(keys.leaseAddress(of: name).tag.bytes != address.tag.bytes)
    let other = try SealedDatabase().keys.address(of: name)
    #expect(other.namespace != address.namespace && other.tag != address.tag)
  }

  @Test func `a rotation and a new opening change no address`() throws {
    var database = try SealedDatabase()
    let name = try name("item")
    let address = database.keys.address(of: name)
    try database.rotate()
    #expect(database.keys.address(of: name) == address)
    #expect(try database.reopened().address(of: name) == address)
  }
}

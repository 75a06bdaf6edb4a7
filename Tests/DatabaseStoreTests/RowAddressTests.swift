import DatabaseStore
import SealedStore
import SessionToolsBase
import Testing

@Suite struct RowAddressTests {
  private let keys: DatabaseKeys

  init() throws {
    keys = try SealedDatabase().keys
  }

  @Test(arguments: ["i", "#i", "org.session-tools.refresh", String(repeating: "i", count: 4096)])
  func `a spent mark is at its item's place, and at another address`(identifier: String) throws {
    let item = try name(identifier, group: "group")
    let mark = try SpentNotice.key(for: item)
    let (address, other) = (try keys.address(of: item), try keys.address(of: mark))
    #expect(address.place == other.place)
    #expect(address.namespace == other.namespace)
    #expect(address.tag != other.tag)
    #expect(try keys.leaseAddress(of: item).place == address.place)
  }

  @Test func `places are spread over all 16 bits`() throws {
    let places = Set(try (0..<500).map { try keys.address(of: name("\($0)")).place.number })
    #expect(places.count > 480)
    #expect(places.contains { $0 < 0 } && places.contains { $0 > 255 })
  }

  @Test func `a namespace is one group of rows, and its service and group the first half of it`()
    throws
  {
    let key = try name("item", group: "group", install: "install")
    let other = try name("other", group: "group", install: "install")
    let hash = try keys.address(of: key).namespace
    #expect(try keys.address(of: other).namespace == hash)
    #expect(keys.hash(of: key.namespace) == hash)

    let elsewhere = try keys.address(of: name("item", group: "group", install: "another")).namespace
    #expect(elsewhere.bytes.low == hash.bytes.low)
    #expect(elsewhere.bytes.high != hash.bytes.high)
    for key in [
      try name("item", group: "groups", install: "install"),
      try name("item", install: "install"), try name("item", service: "svcg", group: "roup"),
    ] {
      #expect(try keys.address(of: key).namespace.bytes.low != hash.bytes.low)
    }
  }

  @Test func `a lease has another tag than its item, and each store has other addresses`() throws {
    let key = try name("item")
    let address = try keys.address(of: key)
    #expect(try keys.leaseAddress(of: key).tag.bytes != address.tag.bytes)
    let other = try SealedDatabase().keys.address(of: key)
    #expect(other.namespace != address.namespace && other.tag != address.tag)
  }

  @Test func `a rotation and a new opening change no address`() throws {
    var database = try SealedDatabase()
    let key = try name("item")
    let address = try database.keys.address(of: key)
    try database.rotate()
    #expect(try database.keys.address(of: key) == address)
    #expect(try database.reopened().address(of: key) == address)
  }
}

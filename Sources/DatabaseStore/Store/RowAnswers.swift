import SealedStore
import SecretStores

/// Addresses as parameters, and rows in answers.
extension StatementParameters {
  init(_ address: RowAddress) {
    self.init()
    append(address)
  }

  mutating func append(_ address: RowAddress) {
    append(address.namespace.bytes)
    append(address.shard.number)
    append(address.tag.bytes)
  }

  init(_ addresses: [RowAddress]) {
    self.init()
    append(addresses.map(\.namespace.bytes))
    append(addresses.map(\.shard.number))
    append(addresses.map(\.tag.bytes))
  }

  /// Appends shard, tag and holder of each lease.
  mutating func append(_ leases: [Lease]) {
    append(leases.map(\.address.shard.number))
    append(leases.map(\.address.tag.bytes))
    append(leases.map(\.holder))
  }
}

extension DatabaseAnswer {
  /// The sealed part of a row that was read.
  enum Part {
    case name, value
  }

  /// Returns the row at an address.
  ///
  /// - Parameters:
  ///   - row: The number of the row.
  ///   - first: The column of the version, which epoch, gone, write, nonce and the part follow.
  ///   - address: The address that was asked for.
  ///   - part: What the last column is.
  /// - Returns: The row; `nil` when no writer makes such columns.
  func sealedRow(
    _ row: Int, from first: Int = 0, at address: RowAddress, _ part: Part
  ) -> SealedRow? {
    guard let version = integer(Int64.self, row, first), version > 0,
      let epoch = integer(Int32.self, row, first + 1).flatMap({ Epoch($0) }),
      let isGone = bool(row, first + 2),
      let write = bytes16(row, first + 3),
      let nonce = bytes(row, first + 4), let sealed = bytes(row, first + 5)
    else { return nil }
    let fields = RowFields(
      address: address, version: version, epoch: epoch, isGone: isGone,
      write: WriteIdentifier(bytes: write))
    return SealedRow(
      fields: fields, nonce: nonce, name: part == .name ? sealed : nil,
      value: part == .value ? sealed : nil)
  }

  /// Returns the address in a row that begins with it; `nil` when it cannot be one.
  func address(_ row: Int) -> RowAddress? {
    guard let namespace = bytes16(row, 0), let shard = integer(Int16.self, row, 1),
      let tag = bytes16(row, 2)
    else { return nil }
    return RowAddress(
      namespace: NamespaceHash(bytes: namespace), shard: Shard(shard), tag: RowTag(bytes: tag))
  }
}

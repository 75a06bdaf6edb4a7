package import SessionToolsBase

/// The n-th change that one writer makes to its own items.
///
/// The items that exist show how many changes there were, whether any was left out, and whether
/// one was applied in part: every change puts the same two items, and of eight others it puts the
/// next one and removes the one that was put four changes before.
package struct NumberedChange: Sendable {
  private static let slotCount = 8
  private static let slotLifetime = 4

  package let writer: String
  /// The change's number, from 1; 0 stands for the state before the first change.
  package let number: Int

  package init(_ number: Int, of writer: String) {
    self.writer = writer
    self.number = number
  }

  package static func namespace(of writer: String) throws(StoreError) -> StoreNamespace {
    try StoreNamespace(service: "writer-\(writer)")
  }

  /// The changes to apply to a store.
  package var changes: [StoreChange] {
    get throws(StoreError) {
      [
        .put(longValue, for: try name("first")),
        .put(shortValue(number), for: try slot(number)),
        .remove(try slot(number + Self.slotLifetime)),
        .put(longValue, for: try name("second")),
      ]
    }
  }

  /// All items of the writer after the change.
  package var contents: [ItemName: SecretBytes] {
    get throws(StoreError) {
      guard number > 0 else { return [:] }
      var contents = [try name("first"): longValue, try name("second"): longValue]
      for older in max(1, number - Self.slotLifetime + 1)...number {
        contents[try slot(older)] = shortValue(older)
      }
      return contents
    }
  }

  /// Returns the number of the change that put a value.
  package static func number(of value: SecretBytes) -> Int? {
    String(decoding: value.copyBytes(), as: UTF8.self).split(separator: ":").first
      .flatMap { Int($0) }
  }

  /// A value that is long in every tenth change, so that the journal is soon worth a compaction,
  /// and a kill may hit the middle of a write.
  private var longValue: SecretBytes {
    let byteCount = number.isMultiple(of: 10) ? 60_000 : 100
    return SecretBytes(utf8: "\(number):" + String(repeating: "x", count: byteCount))
  }

  private func shortValue(_ number: Int) -> SecretBytes { SecretBytes(utf8: "\(number):") }

  private func slot(_ number: Int) throws(StoreError) -> ItemName {
    try name("slot \(number % Self.slotCount)")
  }

  private func name(_ identifier: String) throws(StoreError) -> ItemName {
    try ItemName(identifier, in: Self.namespace(of: writer))
  }
}

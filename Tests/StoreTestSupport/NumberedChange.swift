package import SessionToolsBase

/// The n-th change that one writer makes to the items of its own: which items there are tells
/// how many changes there were, whether any was left out, and whether one is there in part.
///
/// Two items are put by every change; of eight others every change puts the next one and removes
/// the one that was put four changes before.
package struct NumberedChange: Sendable {
  private static let slotCount = 8
  private static let slotLifetime = 4

  package let writer: String
  /// From 1; 0 stands for the state before the first.
  package let number: Int

  package init(_ number: Int, of writer: String) {
    self.writer = writer
    self.number = number
  }

  package static func namespace(of writer: String) throws(StoreError) -> Namespace {
    try Namespace(service: "writer-\(writer)")
  }

  /// What to apply.
  package var changes: [StoreChange] {
    get throws(StoreError) {
      [
        .put(longValue, for: try key("first")),
        .put(shortValue(number), for: try slot(number)),
        .remove(try slot(number + Self.slotLifetime)),
        .put(longValue, for: try key("second")),
      ]
    }
  }

  /// All items of the writer after the change.
  package var contents: [StoreKey: SecretBytes] {
    get throws(StoreError) {
      guard number > 0 else { return [:] }
      var contents = [try key("first"): longValue, try key("second"): longValue]
      for older in max(1, number - Self.slotLifetime + 1)...number {
        contents[try slot(older)] = shortValue(older)
      }
      return contents
    }
  }

  /// The number of the change that put a value.
  package static func number(of value: SecretBytes) -> Int? {
    String(decoding: value.copyBytes(), as: UTF8.self).split(separator: ":").first
      .flatMap { Int($0) }
  }

  /// Every tenth is long, so that the journal is soon worth a compaction, and a kill may hit the
  /// middle of a write.
  private var longValue: SecretBytes {
    let byteCount = number.isMultiple(of: 10) ? 60_000 : 100
    return SecretBytes(utf8: "\(number):" + String(repeating: "x", count: byteCount))
  }

  private func shortValue(_ number: Int) -> SecretBytes { SecretBytes(utf8: "\(number):") }

  private func slot(_ number: Int) throws(StoreError) -> StoreKey {
    try key("slot \(number % Self.slotCount)")
  }

  private func key(_ identifier: String) throws(StoreError) -> StoreKey {
    try StoreKey(identifier, in: Self.namespace(of: writer))
  }
}

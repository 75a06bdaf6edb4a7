import SealedStore
import SecretStores

/// Some of the selected items of a migration, in the order in which they were found.
struct MigrationBatch: Sendable {
  /// The largest number of items.
  static let maximumCount = 1000
  /// The number of bytes of names and values from which on a batch takes no more items.
  static let maximumByteCount = 4 << 20

  enum Prior: Sendable, Equatable {
    /// The target had no item of the name.
    case absent
    /// The target's item is not the migration's: it had the same value before, or one of the two
    /// was changed before the item was copied.
    case own
    /// The target had another value.
    case other(ItemDigest)
  }

  /// What is done with an item.
  enum Part: Sendable, Equatable {
    /// The item is copied: its digest as it is in the target, and what the target had.
    case copied(ItemDigest, over: Prior)
    /// The item is not copied because the target has another value, or for a reason that the
    /// journal has.
    case skipped
    /// A store needs the item where it is.
    case left
  }

  struct Entry: Sendable {
    let source: ItemName
    let target: ItemName
    var part: Part
  }

  /// An item that is copied.
  struct Copy: Sendable {
    let position: Int
    let source: ItemName
    let target: ItemName
    /// The digest of the item as it is in the target.
    let digest: ItemDigest
    var prior: Prior
  }

  var entries: [Entry]

  init(_ entries: [Entry]) {
    self.entries = entries
  }

  /// The items that are copied.
  var copies: [Copy] {
    entries.enumerated().compactMap { position, entry in
      guard case .copied(let digest, let prior) = entry.part else { return nil }
      return Copy(
        position: position, source: entry.source, target: entry.target, digest: digest,
        prior: prior)
    }
  }
}

// MARK: Encoding

extension MigrationBatch {
  /// What follows the names of an entry: digest 16 ‖ kind 1 ‖ digest of what the target had 16.
  private static let partByteCount = 33

  private enum Kind: UInt8 {
    case absent, own, other, skipped, left
  }

  /// For each entry: length 4 ‖ source's name ‖ length 4 ‖ target's name ‖ digest 16 ‖ kind 1 ‖
  /// prior digest 16; a digest that there is not is zero.
  var encoded: SecretBytes {
    let byteCount = entries.reduce(0) { sum, entry in
      sum + 8 + Self.partByteCount + entry.source.canonicalByteCount
        + entry.target.canonicalByteCount
    }
    let buffer = ByteBuffer(byteCount: byteCount, isSecret: true)
    var offset = 0
    for entry in entries {
      for name in [entry.source, entry.target] {
        buffer.store(UInt32(name.canonicalByteCount), at: offset)
        name.storeCanonical(in: buffer, at: offset + 4)
        offset += 4 + name.canonicalByteCount
      }
      let kind: Kind
      switch entry.part {
      case .skipped: kind = .skipped
      case .left: kind = .left
      case .copied(let digest, let prior):
        digest.store(in: buffer, at: offset)
        switch prior {
        case .absent: kind = .absent
        case .own: kind = .own
        case .other(let digest):
          kind = .other
          digest.store(in: buffer, at: offset + 17)
        }
      }
      buffer.store(kind.rawValue, at: offset + 16)
      offset += Self.partByteCount
    }
    return SecretBytes(in: buffer, 0..<byteCount)
  }

  init?(_ value: SecretBytes) {
    let buffer = ByteBuffer(value.copyBytes(), isSecret: true)
    var entries: [Entry] = []
    var offset = 0
    var reader = CanonicalNameReader()
    while offset < buffer.byteCount {
      guard let source = Self.name(in: buffer, at: &offset, by: &reader),
        let target = Self.name(in: buffer, at: &offset, by: &reader),
        offset + Self.partByteCount <= buffer.byteCount,
        let kind = Kind(rawValue: buffer.load(UInt8.self, at: offset + 16))
      else { return nil }
      let digest = ItemDigest(buffer, at: offset)
      let part: Part
      switch kind {
      case .absent: part = .copied(digest, over: .absent)
      case .own: part = .copied(digest, over: .own)
      case .other: part = .copied(digest, over: .other(ItemDigest(buffer, at: offset + 17)))
      case .skipped: part = .skipped
      case .left: part = .left
      }
      entries.append(Entry(source: source, target: target, part: part))
      offset += Self.partByteCount
    }
    self.entries = entries
  }

  private static func name(
    in buffer: ByteBuffer, at offset: inout Int, by reader: inout CanonicalNameReader
  ) -> ItemName? {
    guard offset + 4 <= buffer.byteCount else { return nil }
    let start = offset + 4
    let end = start + Int(buffer.load(UInt32.self, at: offset))
    guard end <= buffer.byteCount else { return nil }
    offset = end
    return reader.name(in: buffer, start..<end)
  }
}

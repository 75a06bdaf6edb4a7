import SecretStores

/// The number of a data key, from 1; a rotation makes the next one.
package struct Epoch: Hashable, Comparable, Sendable {
  package let number: Int32

  package static let first = Epoch(unchecked: 1)

  /// Takes a number; `nil` when it is not positive.
  package init?(_ number: Int32) {
    guard number > 0 else { return nil }
    self.number = number
  }

  private init(unchecked number: Int32) {
    self.number = number
  }

  /// The next epoch; `nil` after 2³¹ − 1 of them.
  package var next: Epoch? { number < .max ? Epoch(unchecked: number + 1) : nil }

  package static func < (left: Epoch, right: Epoch) -> Bool { left.number < right.number }
}

/// An epoch in the header, with its wrapped data key.
///
/// `epoch 4 ‖ state 4 ‖ nonce 24 ‖ wrapped data key 48`.
package struct EpochRecord: Equatable, Sendable {
  /// What instances do with an epoch's key.
  package enum State: UInt32, Sendable {
    /// Rows of the epoch are opened.
    case read = 1
    /// New rows are sealed with it, too.
    case written = 2
  }

  static let byteCount = 80
  /// The largest number of epochs in a header.
  package static let maximumCount = 8

  package let epoch: Epoch
  package var state: State
  let wrapped: [UInt8]

  init(epoch: Epoch, state: State, wrapped: [UInt8]) {
    self.epoch = epoch
    self.state = state
    self.wrapped = wrapped
  }

  /// Reads an epoch; `nil` when no writer makes such bytes.
  init?(_ buffer: ByteBuffer, at offset: Int) {
    guard let number = Int32(exactly: buffer.load(UInt32.self, at: offset)),
      let epoch = Epoch(number),
      let state = State(rawValue: buffer.load(UInt32.self, at: offset + 4))
    else { return nil }
    self.init(
      epoch: epoch, state: state,
      wrapped: buffer.bytes(offset + 8..<offset + Self.byteCount))
  }

  func store(in buffer: ByteBuffer, at offset: Int) {
    buffer.store(UInt32(epoch.number), at: offset)
    buffer.store(state.rawValue, at: offset + 4)
    buffer.copy(wrapped, to: offset + 8)
  }

  /// What the sealing of the data key binds: `data ‖ epoch 4`.
  static func binding(of epoch: Epoch) -> [UInt8] {
    Array("data".utf8) + (0..<4).map { UInt8(truncatingIfNeeded: epoch.number >> (8 * $0)) }
  }
}

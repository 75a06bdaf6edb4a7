import SecretStores

/// A message between a program and the agent that keeps keys.
///
/// A program connects, sends one request, receives one answer, and the agent closes the
/// connection. Every message is
///
/// `length 2 ‖ version 1 ‖ kind 1 ‖ body`,
///
/// where the length counts what follows it, and integers are little-endian:
///
/// | kind | | body |
/// |---|---|---|
/// | 1 | get | store identifier 16 |
/// | 2 | keep | store identifier 16 ‖ seconds 4 ‖ key 32 |
/// | 3 | forget | store identifier 16 |
/// | 4 | forget all | |
/// | 128 | done | |
/// | 129 | the key | key 32 |
/// | 130 | no key is kept for the store | |
/// | 131 | the agent keeps as many keys as it can | |
/// | 132 | the request was not understood | |
///
/// The largest message has 56 bytes. A message of another version, or of another length than its
/// kind has, is not understood.
package struct AgentMessage {
  static let version: UInt8 = 1
  static let lengthByteCount = 2
  static let headByteCount = 4
  static let maximumByteCount = headByteCount + StoreIdentifier.byteCount + 4 + Sodium.keyByteCount

  /// The whole message, in memory that is wiped.
  let buffer: ByteBuffer

  /// Makes a message whose body is zero.
  init(kind: UInt8, bodyByteCount: Int) {
    buffer = ByteBuffer(byteCount: Self.headByteCount + bodyByteCount, isSecret: true)
    buffer.store(UInt16(buffer.byteCount - Self.lengthByteCount), at: 0)
    buffer.store(Self.version, at: 2)
    buffer.store(kind, at: 3)
  }

  fileprivate init(receivedIn buffer: ByteBuffer, byteCount: Int) {
    self.buffer = ByteBuffer(byteCount: byteCount, isSecret: true)
    self.buffer.copy(buffer, 0..<byteCount, to: 0)
  }

  /// The kind; `nil` when the message is of another version.
  var kind: UInt8? {
    buffer.load(UInt8.self, at: 2) == Self.version ? buffer.load(UInt8.self, at: 3) : nil
  }

  var bodyByteCount: Int { buffer.byteCount - Self.headByteCount }

  var store: StoreIdentifier {
    StoreIdentifier(bytes: Bytes16(buffer, at: Self.headByteCount))
  }

  func put(_ store: StoreIdentifier) {
    store.bytes.store(in: buffer, at: Self.headByteCount)
  }

  /// Returns the key at the end of the body.
  ///
  /// - Throws: `unavailable` when the system gives no memory.
  func key() throws(StoreError) -> WrappingKey {
    let key = try KeyBytes()
    key.copy(from: buffer, at: buffer.byteCount - Sodium.keyByteCount)
    return WrappingKey(key)
  }

  func put(_ key: WrappingKey) {
    key.bytes.copy(into: buffer, at: buffer.byteCount - Sodium.keyByteCount)
  }
}

extension StoreIdentifier {
  static let byteCount = 16
}

/// A message of which a part may have arrived.
package struct IncomingAgentMessage {
  /// What has arrived.
  package enum Progress {
    case complete(AgentMessage)
    case incomplete
    /// The peer closed the connection, or sent what is not a message.
    case ended
  }

  private let buffer = ByteBuffer(byteCount: AgentMessage.maximumByteCount, isSecret: true)
  private var byteCount = 0

  /// Prepares for a message.
  package init() {}

  /// Reads what has arrived, without waiting.
  package mutating func read(from socket: LocalSocket) -> Progress {
    while true {
      guard let wanted = wantedByteCount else { return .ended }
      if byteCount == wanted {
        return .complete(AgentMessage(receivedIn: buffer, byteCount: byteCount))
      }
      switch socket.read(into: buffer, byteCount..<wanted) {
      case .bytes(let count): byteCount += count
      case .nothingYet: return .incomplete
      case .ended: return .ended
      }
    }
  }

  /// The length of the message, or of its length field before that has arrived; `nil` when no
  /// message is that long.
  private var wantedByteCount: Int? {
    guard byteCount >= AgentMessage.lengthByteCount else { return AgentMessage.lengthByteCount }
    let whole = AgentMessage.lengthByteCount + Int(buffer.load(UInt16.self, at: 0))
    return AgentMessage.headByteCount...AgentMessage.maximumByteCount ~= whole ? whole : nil
  }
}

package import SecretStores

/// What a program asks the agent for.
package enum AgentRequest: Sendable {
  /// The key of a store.
  case get(StoreIdentifier)
  /// To keep the key of a store for some seconds, in place of any that is kept for it.
  case keep(StoreIdentifier, WrappingKey, seconds: UInt32)
  /// To wipe the key of a store.
  case forget(StoreIdentifier)
  /// To wipe all keys.
  case forgetAll

  /// Reads a request; `nil` when the message is not a request of this version.
  ///
  /// - Throws: `unavailable` when the system gives no memory for the key.
  package init?(_ message: AgentMessage) throws(StoreError) {
    switch (message.kind, message.bodyByteCount) {
    case (1?, 16): self = .get(message.store)
    case (2?, 52):
      let seconds = message.buffer.load(UInt32.self, at: Self.secondsOffset)
      self = .keep(message.store, try message.key(), seconds: seconds)
    case (3?, 16): self = .forget(message.store)
    case (4?, 0): self = .forgetAll
    default: return nil
    }
  }

  var message: AgentMessage {
    let message: AgentMessage
    switch self {
    case .get(let store):
      message = AgentMessage(kind: 1, bodyByteCount: 16)
      message.put(store)
    case .keep(let store, let key, let seconds):
      message = AgentMessage(kind: 2, bodyByteCount: 52)
      message.put(store)
      message.buffer.store(seconds, at: Self.secondsOffset)
      message.put(key)
    case .forget(let store):
      message = AgentMessage(kind: 3, bodyByteCount: 16)
      message.put(store)
    case .forgetAll:
      message = AgentMessage(kind: 4, bodyByteCount: 0)
    }
    return message
  }

  private static let secondsOffset = AgentMessage.headByteCount + StoreIdentifier.byteCount
}

/// The agent's answer to a request.
package enum AgentAnswer: Sendable {
  /// What was asked for is done.
  case done
  case key(WrappingKey)
  case noKey
  /// The agent keeps as many keys as it can.
  case full
  /// The request was not one of the agent's version.
  case notUnderstood

  /// Reads an answer; `nil` when the message is not an answer of this version.
  ///
  /// - Throws: `unavailable` when the system gives no memory for the key.
  init?(_ message: AgentMessage) throws(StoreError) {
    switch (message.kind, message.bodyByteCount) {
    case (128?, 0): self = .done
    case (129?, Sodium.keyByteCount): self = .key(try message.key())
    case (130?, 0): self = .noKey
    case (131?, 0): self = .full
    case (132?, 0): self = .notUnderstood
    default: return nil
    }
  }

  package var message: AgentMessage {
    switch self {
    case .done: return AgentMessage(kind: 128, bodyByteCount: 0)
    case .key(let key):
      let message = AgentMessage(kind: 129, bodyByteCount: Sodium.keyByteCount)
      message.put(key)
      return message
    case .noKey: return AgentMessage(kind: 130, bodyByteCount: 0)
    case .full: return AgentMessage(kind: 131, bodyByteCount: 0)
    case .notUnderstood: return AgentMessage(kind: 132, bodyByteCount: 0)
    }
  }
}

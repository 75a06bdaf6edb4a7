import SessionToolsDBus
import SecretStores
import Synchronization

extension SecretServiceStore {
  /// Runs an operation within the store's timeout, and again if the provider was restarted.
  ///
  /// - Throws: The operation's errors, converted to the store's.
  func perform<Result: Sendable>(
    _ body: @Sendable (Operation) async throws -> Result
  ) async throws(StoreError) -> Result {
    do {
      return try await performAlsoAfterRestart(body)
    } catch let error as UnansweredChange {
      throw outcomeUnknown(error.reason)
    } catch {
      throw storeError(error)
    }
  }

  /// Runs an operation, and repeats it once if the provider was restarted.
  ///
  /// It also repeats it in a new session if the two sides have different keys. Running an operation
  /// twice has the same effect as running it once.
  func performAlsoAfterRestart<Result: Sendable>(
    _ body: @Sendable (Operation) async throws -> Result
  ) async throws -> Result {
    let deadline = Deadline(in: options.timeout)
    var (restartsLeft, keysLeft) = (1, ServiceLink.maximumKeyCount - 1)
    var isUnanswered = false
    while true {
      do {
        return try await performOnce(until: deadline, body)
      } catch {
        isUnanswered = isUnanswered || error is UnansweredChange
        if error.saysOtherKey, keysLeft > 0 {
          keysLeft -= 1
        } else if !error.saysOtherKey, error.meansRestart, restartsLeft > 0 {
          restartsLeft -= 1
        } else {
          // A change that an earlier try asked for may have been made.
          throw isUnanswered && !(error is UnansweredChange)
            ? UnansweredChange(reason: error) : error
        }
      }
    }
  }

  private func performOnce<Result: Sendable>(
    until deadline: Deadline, _ body: @Sendable (Operation) async throws -> Result
  ) async throws -> Result {
    let used = try await currentLink(until: deadline)
    do {
      return try await body(Operation(store: self, link: used, deadline: deadline))
    } catch let error where error.meansRestart {
      link.withLock { link in
        // Another task may have connected to the new provider already.
        if link?.provider.connection === used.provider.connection { link = nil }
      }
      throw error
    }
  }

  /// Returns the link that all operations share.
  ///
  /// KeePassXC returns an item without a question only to the connection that made it.
  private func currentLink(until deadline: Deadline) async throws(DBusError) -> ServiceLink {
    if let link = openLink { return link }
    let new = try await ServiceLink.open(on: bus, until: deadline)
    return link.withLock { link in
      if let link, !link.provider.connection.isClosed { return link }
      link = new
      return new
    }
  }

  private var openLink: ServiceLink? {
    link.withLock { $0 }.flatMap { $0.provider.connection.isClosed ? nil : $0 }
  }
}

extension Error {
  /// Whether the call may be repeated with a restarted provider.
  fileprivate var meansRestart: Bool {
    self is UnansweredChange || (self as? DBusError)?.saysRestarted == true
  }

  /// Whether the two sides of a session have different keys.
  fileprivate var saysOtherKey: Bool {
    let reason = (self as? UnansweredChange)?.reason ?? self
    return (reason as? DBusError)?.saysOtherKey == true
  }
}

extension DBusError {
  /// Whether a call went to a provider that is gone, or used a session that the sides do not share.
  var saysRestarted: Bool {
    if kind == .disconnected || saysOtherKey { return true }
    return [
      "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner",
      "org.freedesktop.DBus.Error.NoReply", "org.freedesktop.Secret.Error.NoSession",
    ].contains(name)
  }
}

import SessionToolsDBus
import SecretStores

/// The errors that the store throws.
extension SecretServiceStore {
  /// Returns the error for a locked collection; `nil` for the store's own.
  func locked(_ other: Collection? = nil) -> StoreError {
    let collection = other ?? collection
    return StoreError(
      .locked, store: "\(collection)", reason: "the keyring is locked",
      remedy: "Unlock it in the desktop's password program, or allow this program to ask"
    ).with(.lockedCollection(collection.name))
  }

  func noCollection() -> StoreError {
    let what = collection.name.map { "no collection '\($0)'" } ?? "no default collection"
    return StoreError(
      .unavailable, store: name, reason: "the service has \(what)",
      remedy: "Make one with the keyring's own program: Seahorse, KeePassXC or KWalletManager")
  }

  func notAllowed() -> StoreError {
    StoreError(
      .locked, store: name,
      reason: "the keyring lets this program read the item only when a person allows it",
      remedy: "Allow this program to ask, or turn the confirmation off in KeePassXC's settings")
  }

  /// Decodes a line of the service.
  ///
  /// - Throws: `corrupt` or `unsupportedVersion`.
  func item(in line: SecretBytes) throws(StoreError) -> (name: ItemName, value: SecretBytes) {
    do throws(ItemLine.Defect) {
      return try ItemLine.decode(line)
    } catch .isNewer {
      throw StoreError(
        .unsupportedVersion, store: name,
        reason: "an item was written by a newer version of this library",
        remedy: "Use a newer version of the program")
    } catch {
      throw corrupt("an item was changed or damaged")
    }
  }

  /// Returns an error for a failure between a change and its confirmation.
  func outcomeUnknown(_ reason: any Error) -> StoreError {
    StoreError(
      .outcomeUnknown, store: name,
      reason: "the service did not report whether it made the change",
      remedy: "Read the item again", underlying: reason)
  }

  func partlyMade(_ count: Int, of all: Int, _ error: StoreError) -> StoreError {
    StoreError(
      .outcomeUnknown, store: name,
      reason: "\(count) of \(all) changes were made, then: \(error.reason)",
      remedy: error.remedy, underlying: error)
  }

  func corrupt(_ reason: String) -> StoreError {
    StoreError(
      .corrupt, store: name, reason: reason,
      remedy: "Check the items of session-tools in the desktop's password program")
  }

  func storeError(_ error: any Error) -> StoreError {
    switch error {
    case let error as StoreError: error
    case let error as DBusError: storeError(error)
    default:
      StoreError(.unavailable, store: name, reason: "\(error)", underlying: error)
    }
  }

  private func storeError(_ error: DBusError) -> StoreError {
    switch error.kind {
    case .timedOut:
      StoreError(
        .timedOut, store: name, reason: "the service did not answer in time",
        underlying: error)
    case .cancelled:
      StoreError(.cancelled, store: name, reason: "the task was cancelled")
    case .disconnected:
      StoreError(
        .unavailable, store: name,
        reason: "there is no session bus to reach it on: \(error.message)",
        remedy: "Log in to a desktop, or run the program with dbus-run-session",
        underlying: error)
    case .remote(let name):
      remoteError(name, error)
    }
  }

  private func remoteError(_ remote: String, _ error: DBusError) -> StoreError {
    switch remote {
    case _ where error.saysLocked: return locked()
    case _ where error.saysNoCollection: return noCollection()
    case DBusError.otherUsersBusName:
      return StoreError(
        .accessDenied, store: name, reason: error.message,
        remedy: "Run the program as that user, or without the variables that name the bus, which "
          + "are DBUS_SESSION_BUS_ADDRESS and XDG_RUNTIME_DIR",
        underlying: error)
    case DBusError.deadBusName:
      return StoreError(
        .unavailable, store: name,
        reason: "the session bus cannot be used: '\(error.message)'",
        remedy: "Log in again, or set DBUS_SESSION_BUS_ADDRESS to the address of your session's "
          + "bus",
        underlying: error)
    case DBusError.unexpectedName:
      return StoreError(
        .unavailable, store: name, reason: "the service's answer is invalid: \(error.message)",
        underlying: error)
    case "org.freedesktop.DBus.Error.AccessDenied":
      return StoreError(
        .accessDenied, store: name, reason: "the service refused: '\(error.message)'",
        underlying: error)
    case _ where error.saysNoProvider:
      return StoreError(
        .unavailable, store: self.name,
        reason: "no program provides org.freedesktop.secrets on the session bus",
        remedy: Sandbox.current.map {
          "Either \($0.howToReachKeyring), or keep the items in a keychain"
        } ?? "Install and start one: gnome-keyring, KeePassXC or KWallet",
        underlying: error)
    default:
      return StoreError(
        .unavailable, store: name, reason: "the service answered: '\(error.message)'",
        underlying: error, isTransient: error.saysRestarted)
    }
  }
}

extension DBusError {
  /// Whether the collection or item is locked.
  var saysLocked: Bool { name == "org.freedesktop.Secret.Error.IsLocked" }
}

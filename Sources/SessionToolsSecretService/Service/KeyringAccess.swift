package import SecretStores

/// How the service opens its store, and what it does when that needs a person.
package struct KeyringAccess: Sendable {
  /// What a person runs to unlock the store.
  package let unlockCommand: String
  /// Opens the store with a key that needs no person.
  ///
  /// - Throws: `keyMissing` or `locked` if only a person can open it.
  let open: @Sendable () throws(StoreError) -> any MigratableStore
  /// Returns whether the store that was opened is still the one to use, with its key.
  let isStillOpen: @Sendable () -> Bool
  /// Has the store opened by a person the next time, if a person has unlocked it.
  let forgetKey: @Sendable () -> Void
  /// Returns a question to the person who uses a process; `nil` if none can be asked there.
  let question: @Sendable (_ process: Int32) -> Question?

  /// Records whether a process has got an item, or why not; `nil` if that is not recorded.
  let noteRead: (@Sendable (ItemName, Result<Bool, StoreError>, _ process: Int32) -> Void)?

  /// A question to a person.
  package struct Question: Sendable {
    /// Asks, and opens the store; blocks until the person has answered, or it is cancelled.
    let open: @Sendable () throws(StoreError) -> any MigratableStore
    let cancel: @Sendable () -> Void

    package init(
      open: @escaping @Sendable () throws(StoreError) -> any MigratableStore,
      cancel: @escaping @Sendable () -> Void
    ) {
      self.open = open
      self.cancel = cancel
    }
  }

  package init(
    unlockCommand: String,
    open: @escaping @Sendable () throws(StoreError) -> any MigratableStore,
    isStillOpen: @escaping @Sendable () -> Bool,
    forgetKey: @escaping @Sendable () -> Void,
    question: @escaping @Sendable (_ process: Int32) -> Question?,
    noteRead: (@Sendable (ItemName, Result<Bool, StoreError>, _ process: Int32) -> Void)?
  ) {
    self.unlockCommand = unlockCommand
    self.open = open
    self.isStillOpen = isStillOpen
    self.forgetKey = forgetKey
    self.question = question
    self.noteRead = noteRead
  }
}

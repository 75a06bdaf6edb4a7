import SessionToolsBase

/// Stores a value under a name that may already have one.
struct ItemWriter {
  /// What happens to an existing value.
  enum Policy {
    case replace, refuse
    /// A person is asked.
    case ask
  }

  let open: ItemStore
  let name: ItemName
  let timeout: Duration
  private(set) var policy: Policy

  init(_ open: ItemStore, _ name: ItemName, policy: Policy, timeout: Duration) {
    self.open = open
    self.name = name
    self.policy = policy
    self.timeout = timeout
  }

  /// Asks whether to replace an existing value, if a person is to be asked, so that no one types a
  /// value that is then refused.
  ///
  /// - Throws: A failure if the person says no; any error of the store and the terminal.
  mutating func askIfNeeded() throws {
    guard policy == .ask, try open.store.contains(name) else { return }
    let question = "\(name) already exists. Replace it?"
    guard try Question.confirm(question, about: "\(open.location)") else {
      throw Failure(.failure, "nothing was changed")
    }
    policy = .replace
  }

  /// Stores the value, and says so to a person.
  ///
  /// - Parameters:
  ///   - value: The value.
  ///   - remark: What else to say about it.
  /// - Throws: A failure with the status `alreadyExists` if a value must not be replaced, also one
  ///   that was stored since a person was asked; any error of the store.
  func store(_ value: SecretBytes, remark: String = "") throws {
    let isReplaced: Bool
    switch policy {
    case .replace:
      // Another process may change this between the two calls; only the message depends on it.
      isReplaced = try StandardError.isTerminal && open.store.contains(name)
      try open.store.put(value, for: name)
    case .refuse, .ask:
      // Two processes that check at the same time must not both find nothing.
      try open.store.withExclusiveAccess(to: name, timeout: timeout) {
        guard try !open.store.contains(name) else {
          throw Failure.alreadyExists(name, in: open.location)
        }
        try open.store.put(value, for: name)
      }
      isReplaced = false
    }
    // A script needs no more than the exit status.
    guard StandardError.isTerminal else { return }
    StandardError.say("\(open.location): \(name) \(isReplaced ? "replaced" : "stored")\(remark)")
  }

  /// Refuses an empty value, which is what a failed producer in front of a pipe leaves.
  ///
  /// - Throws: A usage failure.
  static func check(_ value: SecretBytes, mayBeEmpty: Bool) throws {
    guard mayBeEmpty || !value.isEmpty else {
      throw Failure(.usage, "the value is empty; give --empty if that is meant")
    }
  }
}

extension Failure {
  /// Returns the failure for an item that must not be replaced.
  static func alreadyExists(_ name: ItemName, in location: StoreLocation) -> Failure {
    Failure(.alreadyExists, "\(location): \(name) already exists")
  }
}

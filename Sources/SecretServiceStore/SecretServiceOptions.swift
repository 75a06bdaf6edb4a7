/// Which collection of the service a store uses.
public struct SecretServiceCollection: Hashable, Sendable {
  /// Its alias or label; `nil` for the default one.
  public let name: String?

  /// The collection that the service calls its default, whichever that is.
  public static let `default` = SecretServiceCollection(name: nil)

  /// A collection by its alias or, when there is no such alias, by the label that people see.
  ///
  /// `login` is gnome-keyring's that is unlocked with the login, `session` is one of its that is
  /// kept in memory only.
  public static func named(_ name: String) -> SecretServiceCollection {
    SecretServiceCollection(name: name)
  }
}

extension SecretServiceCollection: CustomStringConvertible {
  /// How errors name it: `secret service`, or `secret service 'login'`.
  public var description: String { "secret service" + (name.map { " '\($0)'" } ?? "") }
}

/// How a ``SecretServiceStore`` is used.
public struct SecretServiceOptions: Hashable, Sendable {
  /// Whether a person may be asked to unlock what is locked.
  public enum Prompts: Sendable {
    /// Never: a locked collection is an error, `locked`, unless the
    /// provider unlocks it without a question, as one that has no password, or a wallet of KWallet's
    /// that the login opened.
    ///
    /// KeePassXC may still ask, in a window of its own, whether an item may be removed or
    /// replaced, as its settings say; nothing here can tell beforehand. The change then waits for
    /// the answer as long as for the service, and is `outcomeUnknown` after that: the window
    /// stays, and its answer counts.
    case never
    /// When the collection, or an item in it, is locked; reads may then wait for a person as well.
    case ifNeeded
  }

  /// Whether a person may be asked; never, unless this is changed.
  public var prompts = Prompts.never
  /// How long an operation waits for the service; 25 seconds unless this is changed.
  public var timeout = Duration.seconds(25)
  /// How long a person has to answer, in addition; 2 minutes unless this is changed.
  public var promptTimeout = Duration.seconds(120)

  /// The options unless they are changed.
  public init() {}
}

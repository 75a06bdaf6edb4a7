extension SecretServiceStore {
  /// The collection that a store uses.
  public struct Collection: Hashable, Sendable {
    /// The last part of its path, its alias or its label; `nil` for the default collection.
    public let name: String?

    /// The collection that the service has set as its default, where new items are made.
    ///
    /// It may be another one at any time, so a store finds an item in whichever collection it is.
    public static let `default` = Collection(name: nil)

    /// Names a collection by the last part of its path or, when there is no such path, by its
    /// alias, or by the label that people see.
    ///
    /// The path stays the same when the label changes, as it does in KeePassXC when the database is
    /// locked.
    ///
    /// `login` is the collection that gnome-keyring unlocks with the login, `session` its
    /// collection that is kept only in memory.
    public static func named(_ name: String) -> Collection {
      Collection(name: name)
    }
  }
}

extension SecretServiceStore.Collection: CustomStringConvertible {
  /// The name in errors: `secret service`, or `secret service 'login'`.
  public var description: String { "secret service" + (name.map { " '\($0)'" } ?? "") }
}

extension SecretServiceStore {
  /// The options of a store.
  public struct Options: Hashable, Sendable {
    /// Whether a person may be asked to unlock a collection or an item.
    public enum Prompts: Sendable {
      /// Never: a locked collection throws `locked`, unless the provider unlocks it without a
      /// question, such as a collection without a password, or a KWallet wallet that the login
      /// opened.
      ///
      /// KeePassXC may still ask, in its own window, whether an item may be removed or replaced, as
      /// its settings say; the store cannot know this beforehand. The change then waits for the
      /// answer as long as for the service, and throws `outcomeUnknown` after that: the window
      /// stays, and its answer takes effect.
      case never
      /// When the collection, or an item in it, is locked; reads may then also wait for a person.
      case ifNeeded
    }

    /// Whether a person may be asked; `never` by default.
    public var prompts = Prompts.never
    /// How long an operation waits for the service; 25 seconds by default.
    public var timeout = Duration.seconds(25)
    /// How much longer it waits for a person's answer; 2 minutes by default.
    public var promptTimeout = Duration.seconds(120)

    /// Makes the default options.
    public init() {}
  }
}

public import SecretStores

extension SealedDatabaseStore {
  /// The options of an open database store.
  public struct Options: Sendable {
    /// The name of the schema that has the store's tables.
    public var schema: String
    /// A closure that returns the password, called for each connection; `nil` when none is needed.
    public var password: (@Sendable () throws(StoreError) -> SecretBytes?)?
    /// Whether a server on another machine needs no TLS with a checked certificate.
    ///
    /// Then TLS is used if the server has it (`sslmode=prefer`), unless the address asks for
    /// something else.
    public var allowsPlaintext: Bool
    /// Whether each connection prepares the statements that it uses.
    ///
    /// Set it to `false` for a pooler that passes statements to different connections of its own.
    public var preparesStatements: Bool
    /// The most connections at the same time, 1 or more.
    ///
    /// One more is used while there are streams of changes, or changes are made, and another one
    /// while exclusive access lasts longer than ten seconds.
    public var maximumConnectionCount: Int
    /// The longest time that an operation may take.
    ///
    /// Exclusive access is waited for as long as its caller allows.
    public var operationTimeout: Duration
    /// A closure that receives the store's notices.
    ///
    /// It may be called on any thread, while the store is at work: do not call the store from it.
    public var onNotice: (@Sendable (DatabaseNotice) -> Void)?
    /// Notices that are not reported, because the owner knows: `.notReplicated` on the server of a
    /// developer, which has no standby.
    public var knownNotices: Set<DatabaseNotice>

    /// Creates options; by default the schema `session_tools`, no password, TLS with a checked
    /// certificate, prepared statements, 4 connections, 5 seconds, and no closure for notices.
    public init(
      schema: String = "session_tools",
      password: (@Sendable () throws(StoreError) -> SecretBytes?)? = nil,
      allowsPlaintext: Bool = false, preparesStatements: Bool = true,
      maximumConnectionCount: Int = 4, operationTimeout: Duration = .seconds(5),
      onNotice: (@Sendable (DatabaseNotice) -> Void)? = nil,
      knownNotices: Set<DatabaseNotice> = []
    ) {
      self.schema = schema
      self.password = password
      self.allowsPlaintext = allowsPlaintext
      self.preparesStatements = preparesStatements
      self.maximumConnectionCount = maximumConnectionCount
      self.operationTimeout = operationTimeout
      self.onNotice = onNotice
      self.knownNotices = knownNotices
    }
  }
}

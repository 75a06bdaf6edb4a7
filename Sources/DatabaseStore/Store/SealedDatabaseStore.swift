public import SealedStore
public import SecretStores
import Synchronization

/// A store in a PostgreSQL database that sees neither names nor values, shared by many machines.
///
/// ```swift
/// let store = try SealedDatabaseStore.open(
///   "postgresql://app@db.example.com/app", key: KeyFile(path))
/// ```
///
/// Items are sealed before they leave the process. Any number of tasks, threads, processes and
/// machines may use a store at the same time; a read sees every change that returned before it
/// began, whichever machine made it.
///
/// Every operation is one or a few round trips to the server, blocks its thread meanwhile, and ends
/// at the latest after ``Options/operationTimeout``. A statement that is not answered is sent again
/// until then.
///
/// The format is described in the article <doc:DatabaseFormat>.
public final class SealedDatabaseStore: BlockingSecretStore, MigratableStore {
  /// The largest value in bytes: 1 MiB.
  public static let maximumValueByteCount = DatabaseFormat.maximumValueByteCount

  /// Atomic, shared with other processes, values of up to 1 MiB, lists of up to 1,000 changes and
  /// 14 MiB; durable if the server's settings were that when the store was opened.
  ///
  /// Exclusive access ends 30 seconds after the last sign of life of its process.
  public let traits: StoreTraits
  /// What runs an `async` read: a few threads outside of the pool of tasks.
  public var executor: BlockingExecutor { readThreads }

  let database: Database
  /// The store as a person would name it.
  package var name: String { database.name }
  let keys: StoreKeys
  /// The key slots that this object has listed, or written, last.
  let listedSlots: Mutex<[SlotRecord]>
  let versions = SeenVersions()
  let environment: DatabaseEnvironment
  let nameLocks: NameLocks<ItemName>
  let leases: LeaseKeeper
  let readThreads: BlockingExecutor
  /// The threads for `async` changes, apart from reads because a change may wait for others.
  let writeThreads: BlockingExecutor
  /// The threads on which leases are given back and renewed: none of them takes long, so that a
  /// handler that loses its lease is asked in time to end.
  let leaseThreads: BlockingExecutor
  let poller: ChangePoller
  let sweeper: Sweeper

  private init(
    _ database: Database, _ keys: StoreKeys, _ slots: [SlotRecord], isDurable: Bool,
    _ options: Options, _ environment: DatabaseEnvironment
  ) {
    listedSlots = Mutex(slots)
    self.database = database
    self.keys = keys
    self.environment = environment
    traits = StoreTraits(
      isAtomic: true, isDurable: isDurable, seesOtherProcesses: true,
      excludesOtherProcesses: true, exclusionLease: environment.leaseDuration,
      maximumValueByteCount: Self.maximumValueByteCount,
      maximumChangeCount: DatabaseFormat.maximumChangeCount,
      maximumListByteCount: DatabaseFormat.maximumListByteCount)
    nameLocks = NameLocks(store: database.name)
    leases = LeaseKeeper(database, environment)
    let count = options.maximumConnectionCount
    readThreads = BlockingExecutor(maximumThreadCount: count)
    writeThreads = BlockingExecutor(maximumThreadCount: count)
    leaseThreads = BlockingExecutor(maximumThreadCount: count)
    poller = ChangePoller(database, keys, environment)
    sweeper = Sweeper(database, environment)
  }

  deinit {
    poller.stop()
  }

  /// Opens an existing store.
  ///
  /// Blocks while it connects, and for as long as the key source takes; a passphrase takes about a
  /// second.
  ///
  /// - Parameters:
  ///   - address: The address of the database, as for `psql`, without a password. It names a host;
  ///     several hosts are tried until one accepts changes. TLS with a checked certificate is used
  ///     unless the server is on this machine.
  ///   - key: The source of the key for one of the store's slots.
  ///   - options: The options of the open store.
  /// - Returns: The open store.
  /// - Throws: `invalidKey` when the address cannot be used, `unavailable` when there is no server,
  ///   or no store in the schema, `accessDenied` when the server refuses the user or does not prove
  ///   who it is, `timedOut`, `wrongKey` when no slot opens, `corrupt` when the header is,
  ///   `unsupportedVersion`, `io`, or an error of the key source.
  public static func open(
    _ address: String, key: some KeySource, options: Options = Options()
  ) throws(StoreError) -> SealedDatabaseStore {
    try open(address, key: key, options: options, environment: DatabaseEnvironment())
  }

  package static func open(
    _ address: String, key: some KeySource, options: Options = Options(),
    environment: DatabaseEnvironment
  ) throws(StoreError) -> SealedDatabaseStore {
    let location = try DatabaseLocation(address, options)
    let deadline = ContinuousClock.now + options.operationTimeout
    let (database, settings) = try location.database(options, until: deadline)
    for notice in settings.notices { database.report(notice) }
    if location.address.isExposed { database.report(.exposedConnection) }
    let header = try database.header(until: deadline).header
    let keys = StoreKeys(
      try header.open(with: key, of: location.name).keys, of: header, in: database)
    if !keys.isMemoryLocked { database.report(.keyMemoryNotLocked) }
    return SealedDatabaseStore(
      database, keys, header.slots, isDurable: settings.isDurable, options, environment)
  }

  /// Makes changes like the blocking method, on one of a few threads outside of the pool of tasks.
  ///
  /// - Throws: As the blocking method.
  public func asyncApply(_ changes: [StoreChange]) async throws(StoreError) {
    // The wait for a thread counts.
    let (leases, deadline) = (Lease.held(in: self), database.deadline)
    try await writeThreads.blocking { () throws(StoreError) in
      try self.apply(changes, under: leases, until: deadline)
    }
  }
}

extension SealedDatabaseStore: LocatedStore {
  /// Returns the store's identifier, which a copy of its schema has, too.
  public func identity() -> String? { "sealed database \(keys.store.bytes.hexadecimal)" }

  /// Returns its database and schema, as the address names them.
  ///
  /// Two addresses of one database are two places; their refreshes still exclude each other by
  /// leases.
  package func location() -> String? { "sealed database \(database.name)" }

  /// Returns the keys that open the store, as they are in the database now; the weakest determines
  /// what someone with the database's disk needs.
  ///
  /// - Throws: As ``value(for:)``.
  public func protection() throws(StoreError) -> StoreProtection {
    StoreProtection(sealedFor: try keySlots())
  }
}

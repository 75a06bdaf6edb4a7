#if Hummingbird
import Foundation
public import Hummingbird
import ServiceLifecycle
public import SessionToolsBase

/// Hummingbird's values between requests, in a store of this package: sealed, on the disk or in a
/// database of several machines.
///
/// ```swift
/// let persist = SecretStorePersistDriver(store, namespace: "com.example.shop.cookies")
/// let app = Application(router: router, services: [persist])
/// ```
///
/// A value, its key and the time when it expires are sealed together. Keys are item names: any text
/// of 1 to 4,096 bytes. Use a namespace for nothing else: ``run()`` removes what has expired there,
/// and items that are not of a driver are `corrupt`.
///
/// Times are those of the machine's clock, which all machines of a database store share and must
/// agree about.
///
/// A session identifier that a browser sends is the browser's own choice. Give a user a new one
/// when they sign in; no driver can do that.
public final class SecretStorePersistDriver: PersistDriver {
  /// How a driver works.
  public struct Configuration: Sendable {
    /// The time from one removal of expired values to the next.
    ///
    /// Each instance then reads all values, since the times are sealed, too: some microseconds each
    /// from a file store, and a round trip each from a database.
    public var tidyFrequency: Duration

    /// Makes a configuration.
    ///
    /// - Parameter tidyFrequency: The time from one removal of expired values to the next; ten
    ///   minutes by default, as Hummingbird's own drivers have it.
    public init(tidyFrequency: Duration = .seconds(600)) {
      self.tidyFrequency = tidyFrequency
    }
  }

  private let store: any SecretStore
  private let namespace: StoreNamespace
  private let configuration: Configuration
  private let clock: any SessionClock

  /// How often a change is tried again because another one came first.
  private static let maximumTryCount = 10

  /// Makes a driver; reads and writes nothing yet.
  ///
  /// - Parameters:
  ///   - store: The store, which remains the caller's to close.
  ///   - namespace: A namespace for this driver alone.
  ///   - configuration: How it works.
  ///   - clock: The clock by which values expire.
  public init(
    _ store: some SecretStore, namespace: StoreNamespace,
    configuration: Configuration = Configuration(), clock: any SessionClock = SystemSessionClock()
  ) {
    self.store = store
    self.namespace = namespace
    self.configuration = configuration
    self.clock = clock
  }

  /// Stores a value under a key that has none, or whose value has expired.
  ///
  /// Of several processes that create one key, one succeeds, also where exclusive access does not
  /// hold for others (see ``StoreTraits``).
  ///
  /// - Throws: `PersistError.duplicate` when there is a value, also after a change whose outcome
  ///   was unknown and that was made; `StoreError.unencodable`, `invalidName` for a key that no
  ///   item can have, or what the store throws, and nothing was changed.
  public func create<Object: Codable & Sendable>(
    key: String, value: Object, expires: Duration?
  ) async throws {
    let item = try address(of: key)
    let change = StoreChange.put(
      try ExpiringValue.bytes(of: value, expiring: date(in: expires), for: item.name),
      for: item.name)
    var condition = ItemCondition.isAbsent(item.name)
    for _ in 0..<Self.maximumTryCount {
      if try await item.apply([change], if: condition) == .made { return }
      condition = .isAbsent(item.name)
      if let stored = try await storedValue(of: item) {
        guard stored.value.hasExpired(at: clock.now) else { throw PersistError.duplicate }
        condition = .stored(item.name, isOneOf: [stored.version])
      }
    }
    throw changedMeanwhile(item.name)
  }

  /// Stores a value; without `expires`, an older value's time stays.
  ///
  /// - Throws: `StoreError.unencodable`, `invalidName`, or what the store throws.
  public func set<Object: Codable & Sendable>(
    key: String, value: Object, expires: Duration?
  ) async throws {
    let item = try address(of: key)
    if expires != nil {
      let bytes = try ExpiringValue.bytes(of: value, expiring: date(in: expires), for: item.name)
      return try await item.make([.put(bytes, for: item.name)])
    }
    for _ in 0..<Self.maximumTryCount {
      let stored = try await storedValue(of: item)
      let condition = stored.map { ItemCondition.stored(item.name, isOneOf: [$0.version]) }
      let kept = stored.flatMap { $0.value.hasExpired(at: clock.now) ? nil : $0.value.expiry }
      let bytes = try ExpiringValue.bytes(of: value, expiring: kept, for: item.name)
      let change = StoreChange.put(bytes, for: item.name)
      if try await item.apply([change], if: condition ?? .isAbsent(item.name)) == .made { return }
    }
    throw changedMeanwhile(item.name)
  }

  /// Reads a value; `nil` when it is absent or has expired.
  ///
  /// - Throws: `PersistError.invalidConversion` when it is of another type; what the store throws:
  ///   a locked or unreachable store is not an absent value.
  public func get<Object: Codable & Sendable>(
    key: String, as type: Object.Type
  ) async throws -> Object? {
    try await getWithTTL(key: key, as: type)?.object
  }

  /// Reads a value and how long it is still valid, `nil` for ever.
  ///
  /// - Throws: As ``get(key:as:)``.
  public func getWithTTL<Object: Codable & Sendable>(
    key: String, as type: Object.Type
  ) async throws -> (object: Object, ttl: Duration?)? {
    // What a browser sends need not be a name.
    guard let item = try? address(of: key), let stored = try await storedValue(of: item)
    else { return nil }
    let now = clock.now
    guard !stored.value.hasExpired(at: now) else { return nil }
    guard let object = stored.value.object(as: type) else { throw PersistError.invalidConversion }
    return (object, stored.value.expiry.map { .seconds($0.timeIntervalSince(now)) })
  }

  /// Removes a value; an absent one is not an error.
  ///
  /// - Throws: What the store throws.
  public func remove(key: String) async throws {
    guard let item = try? address(of: key) else { return }
    try await item.make([.remove(item.name)])
  }

  /// Removes expired values, now and then every ``Configuration/tidyFrequency``, until the service
  /// is shut down.
  ///
  /// What cannot be removed now is tried again the next time, and reported as a notice of the store
  /// (`SessionEvent.storeNotice`): no error ends it.
  public func run() async throws {
    await cancelWhenGracefulShutdown { [self] in
      while !Task.isCancelled {
        await tidy()
        // It fails only when it is cancelled.
        try? await clock.sleep(for: configuration.tidyFrequency)
      }
    }
  }

  /// Removes what has expired, and nothing that was renewed after it was read.
  func tidy() async {
    var damaged: (count: Int, first: StoreError)?
    do {
      for name in try await store.names(in: namespace) {
        if Task.isCancelled { return }
        do {
          let item = ItemAddress(name, in: store)
          guard let stored = try await storedValue(of: item), stored.value.hasExpired(at: clock.now)
          else { continue }
          _ = try await item.apply([.remove(name)], if: .stored(name, isOneOf: [stored.version]))
        } catch let error as StoreError where [.corrupt, .outcomeUnknown].contains(error.code) {
          // The others are looked at all the same.
          damaged = ((damaged?.count ?? 0) + 1, damaged?.first ?? error)
        }
      }
      if let damaged {
        notice("\(damaged.count) values were not looked at; the first: \(damaged.first)")
      }
    } catch  where error is CancellationError || (error as? StoreError)?.code == .cancelled {
      // The service is shut down.
    } catch {
      notice("Expired values were not removed: \(error)")
    }
  }

  private func notice(_ text: String) {
    StoreReport.report(.notice(store: "Hummingbird's \(namespace.service)", text))
  }

  private func address(of key: String) throws(StoreError) -> ItemAddress {
    ItemAddress(try ItemName(key, in: namespace), in: store)
  }

  private func storedValue(
    of item: ItemAddress
  ) async throws -> (value: ExpiringValue, version: ItemVersion)? {
    guard let bytes = try await item.store.value(for: item.name) else { return nil }
    return (try ExpiringValue(bytes, of: item.name), ItemVersion(bytes))
  }

  private func date(in duration: Duration?) -> Date? {
    duration.map { clock.now.addingTimeInterval($0 / .seconds(1)) }
  }

  private func changedMeanwhile(_ name: ItemName) -> StoreError {
    StoreError(
      .timedOut, store: "\(name)",
      reason: "others changed the value \(Self.maximumTryCount) times while it was to be changed",
      remedy: "Try again")
  }
}
#endif

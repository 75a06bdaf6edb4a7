import DBus
import SessionToolsBase
import Synchronization

/// Tells of changes, by the service's own signals.
///
/// Begins with the first listener, and goes on until the store goes away. A provider, or a bus,
/// that is not there is waited for.
final class ServiceWatcher: Sendable {
  private let observers = Observers()
  private let task = Mutex<Task<Void, Never>?>(nil)

  /// How long a bus that is not there is left alone.
  private static let pause = Duration.seconds(2)

  deinit {
    task.withLock { $0?.cancel() }
  }

  /// A stream of what changes in a store from now on.
  func stream(of store: SecretServiceStore) -> AsyncStream<StoreEvent> {
    let stream = observers.stream()
    task.withLock { task in
      guard task == nil else { return }
      task = Task.detached { [observers, collection = store.collection, bus = store.bus] in
        while !Task.isCancelled {
          // A bus that is not there is tried again: what is wrong with it, operations say.
          var relay = try? await ChangeRelay(collection, observers, bus)
          await relay?.run()
          try? await Task.sleep(for: Self.pause)
        }
      }
    }
    return stream
  }
}

/// Tells of the changes that come over one connection.
private struct ChangeRelay {
  /// How long the provider may take to say what changed.
  private static let timeout = Duration.seconds(25)

  private let collection: SecretServiceCollection
  private let observers: Observers
  private let bus: SessionBus
  private let connection: DBusConnection
  /// The provider's names for the items that were seen; `nil` for those of other programs.
  private var keys: [String: StoreKey?] = [:]

  init(
    _ collection: SecretServiceCollection, _ observers: Observers, _ bus: SessionBus
  ) async throws(DBusError) {
    self.bus = bus
    self.collection = collection
    self.observers = observers
    connection = try await bus.connect(until: Deadline(in: Self.timeout))
  }

  /// Tells of changes until the connection breaks.
  mutating func run() async {
    let (signals, receiver) = AsyncStream.makeStream(of: DBusSignal.self)
    var subscriptions: [DBusSubscription] = []
    for (interface, sender) in [
      (ServiceInterface.service.rawValue, Provider.wellKnownName),
      (ServiceInterface.collection.rawValue, Provider.wellKnownName),
      (ServiceInterface.properties.rawValue, Provider.wellKnownName),
      ("org.freedesktop.DBus", "org.freedesktop.DBus"),
    ] {
      subscriptions.append(
        await connection.subscribe(to: interface, from: sender) { receiver.yield($0) })
    }
    let closing = connection.onClose { receiver.finish() }
    defer { withExtendedLifetime((subscriptions, closing)) {} }
    // When the bus answers, it has also been told what is listened to. One that broke before its
    // end was listened to does not answer.
    let answer = try? await connection.call(
      DBusMethod(
        "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "GetId"),
      timeout: Self.timeout)
    guard answer != nil else { return }
    // Whatever happened before.
    observers.tell(.resynchronize)
    for await signal in signals {
      if let event = await event(of: signal) { observers.tell(event) }
    }
  }

  private mutating func event(of signal: DBusSignal) async -> StoreEvent? {
    switch signal.name {
    case "ItemCreated", "ItemChanged", "ItemDeleted":
      guard let path = signal.arguments.first?.objectPath else { return nil }
      // KWallet says everything twice, by the collection's path and by that of its alias.
      if signal.path.hasPrefix("\(Provider.path)/aliases/") { return nil }
      if signal.name == "ItemDeleted" {
        guard let key = keys.removeValue(forKey: path) else { return .resynchronize }
        return key.map { .changed([$0]) }
      }
      do {
        let provider = try await Provider(
          on: connection, of: bus, until: Deadline(in: Self.timeout))
        let place = try await provider.path(
          of: collection, until: Deadline(in: Self.timeout))
        guard signal.path == place else { return nil }
        // One that is gone keeps the name under which its deletion is told.
        guard
          let attributes = try await provider.attributes(
            of: path, until: Deadline(in: Self.timeout))
        else { return nil }
        let key = ItemAttributes.key(of: attributes)
        keys[path] = .some(key)
        return key.map { .changed([$0]) }
      } catch {
        return .resynchronize
      }
    case "CollectionChanged", "CollectionDeleted":
      // How KWallet says that a wallet was closed or opened.
      return .resynchronize
    case "PropertiesChanged":
      // A collection was locked or unlocked.
      let isLock = signal.arguments.count > 1 && signal.arguments[1].entries["Locked"] != nil
      return isLock ? .resynchronize : nil
    case "NameOwnerChanged":
      guard signal.arguments.first?.text == Provider.wellKnownName else { return nil }
      keys = [:]
      return .resynchronize
    default: return nil
    }
  }
}

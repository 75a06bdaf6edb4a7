import SessionToolsDBus
import SecretStores
import Synchronization

/// A source of changes, from the service's own signals.
///
/// It begins with the first listener, and continues until the store is released. It waits for a
/// missing provider or bus.
final class ServiceWatcher: Sendable {
  private let observers = Observers()
  private let task = Mutex<Task<Void, Never>?>(nil)

  /// The pause before the next attempt to reach the bus.
  private static let pause = Duration.seconds(2)

  deinit {
    task.withLock { $0?.cancel() }
  }

  /// Returns a stream of a store's changes from now on.
  func stream(
    from store: SecretServiceStore, of names: Set<ItemName>? = nil
  ) -> AsyncStream<StoreEvent> {
    let stream = observers.stream(of: names)
    task.withLock { task in
      guard task == nil else { return }
      task = Task.detached { [observers, collection = store.collection, bus = store.bus] in
        while !Task.isCancelled {
          // A missing bus is tried again; operations report what is wrong with it.
          var relay = try? await ChangeRelay(collection, observers, bus)
          await relay?.run()
          try? await Task.sleep(for: Self.pause)
        }
      }
    }
    return stream
  }
}

/// A source of the changes that one connection receives.
private struct ChangeRelay {
  /// How long the provider may take to answer questions about a change.
  private static let timeout = Duration.seconds(25)

  private let collection: SecretServiceStore.Collection
  private let observers: Observers
  private let bus: SessionBus
  private let connection: DBusConnection
  /// The names of the items seen, by the provider's paths; `nil` for items of other programs.
  private var names: [String: ItemName?] = [:]

  init(
    _ collection: SecretServiceStore.Collection, _ observers: Observers, _ bus: SessionBus
  ) async throws(DBusError) {
    self.bus = bus
    self.collection = collection
    self.observers = observers
    connection = try await bus.connect(until: Deadline(in: Self.timeout))
  }

  /// Reports changes until the connection breaks.
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
    // The bus's answer shows that it has processed the subscriptions. A connection that broke
    // before `onClose` was set does not answer.
    let answer = try? await connection.call(
      DBusMethod(
        "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "GetId"),
      timeout: Self.timeout)
    guard answer != nil else { return }
    // Covers changes before the subscriptions.
    observers.report(.resynchronize)
    for await signal in signals {
      if let event = await event(of: signal) { observers.report(event) }
    }
  }

  private mutating func event(of signal: DBusSignal) async -> StoreEvent? {
    switch signal.name {
    case "ItemCreated", "ItemChanged", "ItemDeleted":
      guard let path = signal.arguments.first?.objectPath else { return nil }
      // KWallet sends every signal twice, for the collection's path and for its alias's.
      if signal.path.hasPrefix("\(Provider.path)/aliases/") { return nil }
      if signal.name == "ItemDeleted" {
        guard let name = names.removeValue(forKey: path) else { return .resynchronize }
        return name.map { .changed([$0]) }
      }
      do {
        let provider = try await Provider(
          on: connection, of: bus, until: Deadline(in: Self.timeout))
        // The default store's items are in any collection.
        if collection.name != nil {
          let place = try await provider.path(
            of: collection, until: Deadline(in: Self.timeout))
          guard signal.path == place else { return nil }
        }
        // An item that is gone keeps its recorded name, for the event of its deletion.
        guard
          let attributes = try await provider.attributes(
            of: path, until: Deadline(in: Self.timeout))
        else {
          if names[path] == .some(nil) { names.removeValue(forKey: path) }
          return nil
        }
        // An item may be reported before it has its attributes, and be gone when it has them.
        guard !attributes.isEmpty else { return .resynchronize }
        let name = ItemAttributes.name(of: attributes)
        names[path] = .some(name)
        return name.map { .changed([$0]) }
      } catch {
        return .resynchronize
      }
    case "CollectionChanged", "CollectionDeleted":
      // KWallet signals in this way that a wallet was closed or opened.
      return .resynchronize
    case "PropertiesChanged":
      // A collection was locked or unlocked.
      let isLock = signal.arguments.count > 1 && signal.arguments[1].entries["Locked"] != nil
      return isLock ? .resynchronize : nil
    case "NameOwnerChanged":
      guard signal.arguments.first?.text == Provider.wellKnownName else { return nil }
      names = [:]
      return .resynchronize
    default: return nil
    }
  }
}

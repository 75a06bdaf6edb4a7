import Foundation
import SessionToolsBase

/// A probe of a container with items of some type.
struct ItemProbe<Item: Equatable & Sendable>: ContainerProbe {
  private let subject: ContainerUnderTest<Item>
  private let container: any SessionContainer<Item>
  let patience: Duration

  init(
    _ subject: ContainerUnderTest<Item>, _ container: any SessionContainer<Item>,
    patience: Duration
  ) {
    self.subject = subject
    self.container = container
    self.patience = patience
  }

  private var samples: ItemSamples<Item> {
    ItemSamples(first: subject.items.first, second: subject.items.second)
  }

  /// The container, if any thread may call it.
  private var shared: (any ObservableSessionContainer<Item>)? {
    container as? any ObservableSessionContainer<Item>
  }

  func hasItem(_ identifier: String) async throws -> Bool {
    guard let shared else { return container.hasItem(forIdentifier: identifier) }
    return try await onOwnThread { shared.hasItem(forIdentifier: identifier) }
  }

  func item(_ identifier: String) async throws -> SampleItem? {
    let samples = samples
    guard let shared else {
      return try container.item(forIdentifier: identifier, jsonDecoder: JSONDecoder())
        .map(samples.known)
    }
    return try await onOwnThread {
      try shared.item(forIdentifier: identifier, jsonDecoder: JSONDecoder()).map(samples.known)
    }
  }

  func storeItem(_ item: SampleItem, _ identifier: String) async throws {
    let item = samples[item]
    guard let shared else {
      return try container.storeItem(item, forIdentifier: identifier, jsonEncoder: JSONEncoder())
    }
    try await onOwnThread {
      try shared.storeItem(item, forIdentifier: identifier, jsonEncoder: JSONEncoder())
    }
  }

  func removeItem(_ identifier: String) async throws {
    guard let shared else { return try container.removeItem(forIdentifier: identifier) }
    try await onOwnThread { try shared.removeItem(forIdentifier: identifier) }
  }

  func reopened() async throws -> any ContainerProbe {
    guard let reopen = subject.reopen else {
      preconditionFailure("a check that reopens says so in its requirements")
    }
    return ItemProbe(subject, try await reopen(), patience: patience)
  }

  func lock() async throws { try await subject.lock?() }
  func unlock() async throws { try await subject.unlock?() }
  func damage(_ identifier: String) async throws { try await subject.damage?(identifier) }

  func observable() throws -> any ObservableProbe {
    guard let shared else {
      throw Finding(
        expected: "an ObservableSessionContainer, like the first container", seen: "another")
    }
    return SharedItemProbe(container: shared, samples: samples)
  }

  func storeBacked() throws -> any ContainerProbe {
    let found: Any? = try (container as Any as? any StoreBackedContainer)?.erasedStoreContainer()
    guard let container = found as? any SessionContainer<Item> else {
      throw Finding(expected: "a container of the same items on a store", seen: "none")
    }
    return ItemProbe(subject, container, patience: patience)
  }
}

extension StoreBackedContainer {
  fileprivate func erasedStoreContainer() throws -> Any { try storeContainer() }
}

/// A container that any thread may call.
private struct SharedItemProbe<Item: Equatable & Sendable>: ObservableProbe {
  let container: any ObservableSessionContainer<Item>
  let samples: ItemSamples<Item>

  func contains(_ identifier: String, by kind: CallKind) async throws -> Bool {
    let container = container
    return switch kind {
    case .blocking:
      try await onOwnThread { try container.containsItem(forIdentifier: identifier) }
    case .async: try await container.asyncContainsItem(forIdentifier: identifier)
    }
  }

  func load(_ identifier: String, by kind: CallKind) async throws -> SampleItem? {
    let (container, samples) = (container, samples)
    return switch kind {
    case .blocking:
      try await onOwnThread {
        try container.loadItem(forIdentifier: identifier, jsonDecoder: JSONDecoder())
          .map(samples.known)
      }
    case .async:
      try await container.asyncLoadItem(forIdentifier: identifier, jsonDecoder: JSONDecoder())
        .map(samples.known)
    }
  }

  func store(_ item: SampleItem, _ identifier: String, by kind: CallKind) async throws {
    let (container, item) = (container, samples[item])
    switch kind {
    case .blocking:
      try await onOwnThread {
        try container.storeItem(item, forIdentifier: identifier, jsonEncoder: JSONEncoder())
      }
    case .async:
      try await container.asyncStoreItem(
        item, forIdentifier: identifier, jsonEncoder: JSONEncoder())
    }
  }

  func remove(_ identifier: String, by kind: CallKind) async throws {
    let container = container
    switch kind {
    case .blocking:
      try await onOwnThread { try container.removeItem(forIdentifier: identifier) }
    case .async: try await container.asyncRemoveItem(forIdentifier: identifier)
    }
  }

  func changes(_ identifier: String) -> AsyncStream<Void> {
    container.itemChanges(forIdentifier: identifier)
  }
}

/// The two items that are stored.
private struct ItemSamples<Item: Equatable & Sendable>: Sendable {
  let first: Item
  let second: Item

  subscript(sample: SampleItem) -> Item { sample == .second ? second : first }

  func known(_ item: Item) -> SampleItem {
    item == first ? .first : item == second ? .second : .other
  }
}

import SessionToolsBase

/// The defect of a store that is only read, and otherwise works as it should.
enum ReadOnlyDefect: String, CaseIterable, CustomStringConvertible, Sendable {
  case takesChanges, refusesWithAnotherError, failsEmptyLists, givesExclusiveAccess
  case listsInNoOrder, listsWhatIsNotThere, listsAllNamespaces, givesEmptyForAbsent
  case readsAnotherMemory, removesWhatIsRead

  var description: String { rawValue }

  /// The checks that such a store fails.
  var failing: Set<String> {
    switch self {
    case .takesChanges, .refusesWithAnotherError:
      ["every change is refused, and changes nothing"]
    case .failsEmptyLists: ["an empty list is accepted"]
    case .givesExclusiveAccess: ["exclusive access is refused"]
    case .listsInNoOrder, .listsWhatIsNotThere: ["every listed item is there"]
    case .listsAllNamespaces: ["every listed item is there", "an unlisted item is absent"]
    case .givesEmptyForAbsent: ["an unlisted item is absent"]
    case .readsAnotherMemory: ["both kinds of calls read the same"]
    case .removesWhatIsRead:
      [
        "both kinds of calls read the same", "every change is refused, and changes nothing",
        "reading changes nothing", "every listed item is there",
      ]
    }
  }
}

/// A store that is only read, with one defect or without.
struct BrokenReadOnlyStore: BlockingSecretStore {
  let executor = BlockingExecutor(maximumThreadCount: 1)
  private let memory = MemoryStore()
  private let defect: ReadOnlyDefect?

  init(_ defect: ReadOnlyDefect?) throws {
    self.defect = defect
    for (identifier, namespace) in [("a", "mail"), ("b", "mail"), ("c", "other")] {
      try memory.put(
        SecretBytes(utf8: identifier),
        for: ItemName(identifier, in: StoreNamespace(service: namespace)))
    }
  }

  var traits: StoreTraits {
    StoreTraits(
      isAtomic: false, isDurable: false, seesOtherProcesses: false, excludesOtherProcesses: false,
      maximumValueByteCount: Int.max, isReadOnly: true)
  }

  func protection() -> StoreProtection { StoreProtection("nothing") }

  private var refusal: StoreError {
    StoreError(
      defect == .refusesWithAnotherError ? StoreError.io : StoreError.accessDenied,
      store: "broken", reason: "it is only read")
  }

  func value(for name: ItemName) -> SecretBytes? { read(name) }

  private func read(_ name: ItemName) -> SecretBytes? {
    let value = memory.value(for: name)
    switch defect {
    case .givesEmptyForAbsent: return value ?? SecretBytes([UInt8]())
    case .removesWhatIsRead: memory.apply([.remove(name)])
    default: break
    }
    return value
  }

  func contains(_ name: ItemName) -> Bool { memory.value(for: name) != nil }

  func asyncValue(for name: ItemName) async -> SecretBytes? {
    let value = read(name)
    return switch defect {
    case .readsAnotherMemory: value.map { _ in SecretBytes(utf8: "other") }
    default: value
    }
  }

  func names(in namespace: StoreNamespace?) throws(StoreError) -> [ItemName] {
    let names = memory.names(in: defect == .listsAllNamespaces ? nil : namespace)
    return switch defect {
    case .listsInNoOrder: names.reversed()
    case .listsWhatIsNotThere where namespace == nil: names + [try ItemName("z", in: "z")]
    default: names
    }
  }

  func apply(_ changes: [StoreChange]) throws(StoreError) {
    if defect == .takesChanges { return memory.apply(changes) }
    if !changes.isEmpty || defect == .failsEmptyLists { throw refusal }
  }

  func withExclusiveAccess<Result>(
    to name: ItemName, timeout: Duration, _ body: () throws -> Result
  ) throws -> Result {
    guard defect == .givesExclusiveAccess else { throw accessRefusal }
    return try body()
  }

  func withExclusiveAccess<Result>(
    to name: ItemName, timeout: Duration, _ body: () async throws -> Result
  ) async throws -> Result {
    guard defect == .givesExclusiveAccess else { throw accessRefusal }
    return try await body()
  }

  private var accessRefusal: StoreError {
    StoreError(.accessDenied, store: "broken", reason: "it is only read")
  }

  func changes() -> AsyncStream<StoreEvent> { AsyncStream { $0.finish() } }
}

import SessionToolsBase

extension StoreConformance {
  /// One promise of every store, and the way to find out whether it is kept.
  public struct Check: Identifiable, Hashable, Sendable, CustomStringConvertible {
    /// What is checked, as a sentence that could be false.
    public let name: String
    /// What `SecretStore` promises, in the words of its documentation.
    public let promise: String
    /// What a store has to be able to do for the check to be made with it.
    public let requirements: Set<StoreRequirement>
    /// Whether it is one of stores that are only read.
    public let isReadOnly: Bool
    private let faces: [Face?]
    private let body: @Sendable (StoreTrial) async throws -> Void

    /// The name, which no other check of stores has.
    public var id: String { name }
    /// The name.
    public var description: String { name }

    init(
      _ name: String, _ promise: String, _ requirements: Set<StoreRequirement> = [],
      isReadOnly: Bool = false, faces: [Face?] = Face.allCases,
      trial: @escaping @Sendable (StoreTrial) async throws -> Void
    ) {
      self.name = name
      self.promise = promise
      self.requirements = requirements
      self.isReadOnly = isReadOnly
      self.faces = faces
      body = trial
    }

    /// A check of one fresh store.
    init(
      _ name: String, _ promise: String, _ requirements: Set<StoreRequirement> = [],
      isReadOnly: Bool = false, faces: [Face?] = Face.allCases,
      _ body: @escaping @Sendable (StoreProbe) async throws -> Void
    ) {
      self.init(name, promise, requirements, isReadOnly: isReadOnly, faces: faces) { trial in
        try await body(try await trial.open())
      }
    }

    /// Whether the check can be made with a store.
    public func applies(to subject: StoreUnderTest) -> Bool {
      subject.store.traits.isReadOnly == isReadOnly
        && requirements.allSatisfy { $0.isMet(by: subject) }
    }

    /// Makes the check, with blocking and with `async` calls where both can break the promise.
    ///
    /// Blocking calls are made on threads of their own. A store that never answers is waited for:
    /// give the test a time limit.
    ///
    /// - Parameters:
    ///   - patience: How long to wait for what has to come, such as an event, before the promise
    ///     is taken for broken: so long that no busy machine needs it. A store that keeps its
    ///     promises never waits so long.
    ///   - makeStore: Gives a fresh, empty store each time; one that is only read has at least two
    ///     items.
    /// - Throws: ``ConformanceFailure``, also when the store does not meet the requirements, and
    ///   when `makeStore` throws.
    public func run(
      patience: Duration = .seconds(300),
      on makeStore: @escaping @Sendable () async throws -> StoreUnderTest
    ) async throws {
      for face in faces {
        let trial = StoreTrial(
          face: face ?? .async, patience: patience, on: makeStore, check: inspect)
        do {
          try await body(trial)
        } catch {
          // What was found counts more than that it cannot be tidied up.
          try? await trial.cleanUp()
          throw Finding.failure(error, of: name, promise: promise, face: face)
        }
        try await trial.cleanUp()
      }
    }

    private func inspect(_ subject: StoreUnderTest) throws {
      if applies(to: subject) { return }
      let unmet = requirements.filter { !$0.isMet(by: subject) }.map(\.rawValue).sorted()
      throw Finding(
        expected: isReadOnly ? "a store that is only read" : "a store that the check applies to",
        seen: unmet.isEmpty
          ? "one whose traits say that isReadOnly is \(!isReadOnly)"
          : "one without \(unmet.joined(separator: ", "))")
    }

    /// Whether both are the same check.
    public static func == (left: Check, right: Check) -> Bool { left.name == right.name }

    /// Hashes the name.
    public func hash(into hasher: inout Hasher) { hasher.combine(name) }
  }
}

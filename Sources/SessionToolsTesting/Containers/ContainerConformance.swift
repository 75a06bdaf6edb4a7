import SessionToolsBase

/// The promises of every `SessionContainer`, and the further promises of an
/// `ObservableSessionContainer`, as checks that a test runs one by one.
///
/// ```swift
/// @Test(arguments: ContainerConformance.checks(for: makeContainer()))
/// func `my container keeps its promises`(_ check: ContainerConformance.Check) async throws {
///   try await check.run(on: makeContainer)
/// }
/// ```
public enum ContainerConformance {
  /// Every check, including those for abilities that not every container has.
  public static let all: [Check] =
    itemChecks + keepingChecks + observableChecks + unreadableChecks + storeBackedChecks

  /// Returns the checks that a container must pass: those of ``all`` whose requirements it meets.
  ///
  /// The container is only inspected: it is neither used nor cleaned up.
  public static func checks<Item>(for subject: ContainerUnderTest<Item>) -> [Check] {
    all.filter { $0.applies(to: subject) }
  }

  /// Runs several checks, one after the other; all of them are run even if some fail.
  ///
  /// - Parameters:
  ///   - checks: The checks; by default all that apply.
  ///   - patience: How long a check waits for an expected event before it fails.
  ///   - makeContainer: Returns a fresh, empty container each time.
  /// - Throws: ``ConformanceFailure/List`` when checks fail, or what `makeContainer` throws.
  public static func run<Item>(
    _ checks: [Check]? = nil, patience: Duration = .seconds(300),
    on makeContainer: () async throws -> ContainerUnderTest<Item>
  ) async throws {
    var failures: [ConformanceFailure] = []
    let chosen: [Check]
    if let checks {
      chosen = checks
    } else {
      let subject = try await makeContainer()
      chosen = self.checks(for: subject)
      try await subject.cleanUp?()
    }
    for check in chosen {
      do {
        try await check.run(patience: patience, on: makeContainer)
      } catch let failure as ConformanceFailure {
        failures.append(failure)
      }
    }
    if !failures.isEmpty { throw ConformanceFailure.List(failures: failures) }
  }
}

extension ContainerConformance {
  /// A check of one promise of containers.
  public struct Check: Identifiable, Hashable, Sendable, CustomStringConvertible {
    /// The name of the check, a sentence that could be false.
    public let name: String
    /// The promise of the protocol, as in its documentation.
    public let promise: String
    /// The abilities that a container needs for the check.
    public let requirements: Set<Requirement>
    private let body: @Sendable (any ContainerProbe) async throws -> Void

    /// The name, which no other check of containers has.
    public var id: String { name }
    /// The name.
    public var description: String { name }

    init(
      _ name: String, _ promise: String, _ requirements: Set<Requirement> = [],
      _ body: @escaping @Sendable (any ContainerProbe) async throws -> Void
    ) {
      self.name = name
      self.promise = promise
      self.requirements = requirements
      self.body = body
    }

    /// Returns whether the check can be run with a container.
    public func applies<Item>(to subject: ContainerUnderTest<Item>) -> Bool {
      requirements.allSatisfy { $0.isMet(by: subject) }
    }

    /// Runs the check.
    ///
    /// The blocking calls of an `ObservableSessionContainer`, which is `Sendable`, are made on
    /// threads of their own, those of any other container in the caller's task. A container that
    /// never answers is waited for: give the test a time limit.
    ///
    /// - Parameters:
    ///   - patience: How long to wait for something that must happen, such as an event, before the
    ///     promise counts as broken.
    ///   - makeContainer: Returns a fresh, empty container.
    /// - Throws: ``ConformanceFailure``, also if the container does not meet the requirements, or
    ///   if `makeContainer` throws.
    public func run<Item>(
      patience: Duration = .seconds(300),
      on makeContainer: () async throws -> ContainerUnderTest<Item>
    ) async throws {
      var cleanUp: (() async throws -> Void)?
      do {
        let subject = try await makeContainer()
        cleanUp = subject.cleanUp
        let unmet = requirements.filter { !$0.isMet(by: subject) }.map(\.rawValue).sorted()
        try expect(
          unmet.isEmpty, "a container that the check applies to",
          seen: "one without \(unmet.joined(separator: ", "))")
        try await body(ItemProbe(subject, subject.container, patience: patience))
      } catch {
        // The finding is more important than an error of the cleanup.
        try? await cleanUp?()
        throw Finding.failure(error, of: name, promise: promise, kind: nil)
      }
      try await cleanUp?()
    }

    /// Returns whether both are the same check.
    public static func == (left: Check, right: Check) -> Bool { left.name == right.name }

    /// Hashes the name.
    public func hash(into hasher: inout Hasher) { hasher.combine(name) }
  }
}

extension ContainerConformance {
  /// An ability that a container needs for a check.
  public enum Requirement: String, CaseIterable, Hashable, Sendable {
    /// The container is an `ObservableSessionContainer`.
    case observable
    /// The container is a `StoreBackedContainer`.
    case storeBacked
    /// The test provides ``ContainerUnderTest/reopen``.
    case reopening
    /// The test provides ``ContainerUnderTest/lock`` and ``ContainerUnderTest/unlock``.
    case locking
    /// The test provides ``ContainerUnderTest/damage``.
    case damaging

    /// Returns whether a container meets the requirement.
    func isMet<Item>(by subject: ContainerUnderTest<Item>) -> Bool {
      switch self {
      case .observable: subject.container is any ObservableSessionContainer<Item>
      case .storeBacked: isStoreBacked(subject.container)
      case .reopening: subject.reopen != nil
      case .locking: subject.lock != nil && subject.unlock != nil
      case .damaging: subject.damage != nil
      }
    }

    /// Takes any value, because a `StoreBackedContainer` requires more of its item's type.
    private func isStoreBacked(_ container: Any) -> Bool { container is any StoreBackedContainer }
  }
}

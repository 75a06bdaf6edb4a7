/// What every `SessionContainer` promises, as checks that a test runs one by one, and what an
/// `ObservableSessionContainer` promises beyond that.
///
/// ```swift
/// @Test(arguments: ContainerConformance.checks(for: makeContainer()))
/// func `my container keeps its promises`(_ check: ContainerConformance.Check) async throws {
///   try await check.run(on: makeContainer)
/// }
/// ```
public enum ContainerConformance {
  /// Every check, those included that need what not every container has.
  public static let all: [Check] =
    itemChecks + keepingChecks + observableChecks + unreadableChecks + storeBackedChecks

  /// The checks that a container has to pass: ``all`` whose requirements it meets.
  ///
  /// The container is only looked at: neither used nor tidied up after.
  public static func checks<Item>(for subject: ContainerUnderTest<Item>) -> [Check] {
    all.filter { $0.applies(to: subject) }
  }

  /// Runs several checks, one after the other, and all of them also when some fail.
  ///
  /// - Parameters:
  ///   - checks: The checks; by default all that apply.
  ///   - patience: How long a check waits for what has to come, before it fails.
  ///   - makeContainer: Gives a fresh, empty container each time.
  /// - Throws: ``ConformanceFailures`` when checks fail, or what `makeContainer` throws.
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
    if !failures.isEmpty { throw ConformanceFailures(failures: failures) }
  }
}

extension ContainerConformance {
  /// One promise of containers, and the way to find out whether it is kept.
  public struct Check: Identifiable, Hashable, Sendable, CustomStringConvertible {
    /// What is checked, as a sentence that could be false.
    public let name: String
    /// What the protocol promises, in the words of its documentation.
    public let promise: String
    /// What a container has to be able to do for the check to be made with it.
    public let requirements: Set<ContainerRequirement>
    private let body: @Sendable (any ContainerProbe) async throws -> Void

    /// The name, which no other check of containers has.
    public var id: String { name }
    /// The name.
    public var description: String { name }

    init(
      _ name: String, _ promise: String, _ requirements: Set<ContainerRequirement> = [],
      _ body: @escaping @Sendable (any ContainerProbe) async throws -> Void
    ) {
      self.name = name
      self.promise = promise
      self.requirements = requirements
      self.body = body
    }

    /// Whether the check can be made with a container.
    public func applies<Item>(to subject: ContainerUnderTest<Item>) -> Bool {
      requirements.allSatisfy { $0.isMet(by: subject) }
    }

    /// Makes the check.
    ///
    /// The blocking calls of a container that is `Sendable` are made on threads of their own, those
    /// of another one where this is called. A container that never answers is waited for: give the
    /// test a time limit.
    ///
    /// - Parameters:
    ///   - patience: How long to wait for what has to come, such as an event, before the promise
    ///     is taken for broken.
    ///   - makeContainer: Gives a fresh, empty container.
    /// - Throws: ``ConformanceFailure``, also when the container does not meet the requirements, and
    ///   when `makeContainer` throws.
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
        // What was found counts more than that it cannot be tidied up.
        try? await cleanUp?()
        throw Finding.failure(error, of: name, promise: promise, face: nil)
      }
      try await cleanUp?()
    }

    /// Whether both are the same check.
    public static func == (left: Check, right: Check) -> Bool { left.name == right.name }

    /// Hashes the name.
    public func hash(into hasher: inout Hasher) { hasher.combine(name) }
  }
}

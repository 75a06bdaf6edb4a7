import InMemoryTracing
import Metrics
import MetricsTestKit
import SessionServiceAdapters
import SessionToolsBase
import SessionToolsTesting
import Testing
import Tracing

/// A store whose operations are measured and traced.
@Suite struct `an observed store` {
  private let name: ItemName

  init() throws {
    name = try ItemName("s3cret-name", in: "adapters")
  }

  private func use(_ store: some SecretStore, failing base: FaultyStore) async throws {
    try await store.put(SecretBytes(utf8: "s3cret"), for: name)
    #expect(try await store.value(for: name) != nil)
    _ = try await store.contains(name)
    #expect(try await store.names(in: "adapters") == [name])
    base.lock()
    await #expect(throws: StoreError.self) { try await store.value(for: name) }
  }

  @Test func `is timed by operation and outcome`() async throws {
    let metrics = TestMetrics()
    let base = FaultyStore(MemoryStore())
    try await use(
      ObservedStore(base, measuring: StoreMetrics(of: "logins", factory: metrics)), failing: base)
    for (operation, outcome) in [
      ("get", "ok"), ("get", "locked"), ("contains", "ok"), ("apply", "ok"), ("names", "ok"),
    ] {
      let timer = try metrics.expectTimer(
        "session_tools_store_operation_duration_seconds",
        [("store", "logins"), ("operation", operation), ("outcome", outcome)])
      #expect(timer.values.count == 1)
    }
    let labels = metrics.timers.flatMap { timer in [timer.label] + timer.dimensions.map(\.1) }
    #expect(!labels.contains { $0.contains("s3cret") })
  }

  @Test func `makes spans that end, and that fail with the code of the error`() async throws {
    let tracer = InMemoryTracer()
    let base = FaultyStore(MemoryStore())
    try await withTracer(tracer) {
      try await withSpan("request") { _ in
        try await use(ObservedStore(tracing: base, isRemote: true), failing: base)
      }
    }
    #expect(tracer.activeSpans.isEmpty)
    let spans = tracer.finishedSpans
    let parent = try #require(spans.last)
    #expect(
      spans.map(\.operationName) == ["apply", "get", "contains", "names", "get"].map {
        "session_tools.store.\($0)"
      } + ["request"])
    #expect(spans.dropLast().allSatisfy { $0.spanContext.parentSpanID == parent.spanID })
    let failed = spans[4]
    #expect(failed.status?.code == .error)
    #expect(failed.attributes["error.type"]?.toSpanAttribute() == .string("locked"))
    let showsSecrets = "\(spans)".contains("s3cret")
    #expect(!showsSecrets)
  }

  /// The process's tracer, which refreshes use.
  private static let tracer: InMemoryTracer = {
    let tracer = InMemoryTracer()
    InstrumentationSystem.bootstrap(tracer)
    return tracer
  }()

  @Test func `is refreshed as the store itself, in a trace of its own`() async throws {
    let tracer = Self.tracer
    let base = MemoryStore()
    let metrics = StoreMetrics(of: "logins", factory: TestMetrics())
    let store = ObservedStore(tracing: ObservedStore(base, measuring: metrics), isRemote: false)
    let container = try StoreContainer<Pass>(store, service: "adapters")

    let refresher = SessionRefresher<Pass> { _ in .refreshed(.renewed) }.traced()
    let session = UserSession(
      container: container, storageIdentifier: "traced", notificationPoster: nil,
      refresher: refresher)
    try session.didLogIn(Pass())
    #expect(try await session.validItem() == .renewed)
    // The same item through the store itself.
    let same = try StoreContainer<Pass>(base, service: "adapters")
    #expect(try await same.asyncLoadItem(forIdentifier: "traced") == .renewed)

    var policy = RefreshPolicy()
    policy.firstPause = .milliseconds(1)
    let failing = UserSession(
      container: container, storageIdentifier: "failing", notificationPoster: nil,
      refresher: SessionRefresher<Pass>(policy: policy) { _ in throw TalkativeError() }.traced())
    try failing.didLogIn(Pass())
    await #expect(throws: SessionError.self) { try await failing.validItem() }

    let requests = tracer.finishedSpans.filter {
      $0.operationName == "session_tools.refresh.request"
    }
    let outcomes = requests.map { $0.attributes["session_tools.outcome"]?.toSpanAttribute() }
    #expect(outcomes.first == .string("refreshed"))
    #expect(outcomes.count > 1 && outcomes.dropFirst().allSatisfy { $0 == .string("failed") })
    #expect(requests.dropFirst().allSatisfy { $0.status?.code == .error })
    #expect(requests.allSatisfy { $0.spanContext.parentSpanID == nil })
    let showsSecrets = "\(tracer.finishedSpans)".contains("s3cret")
    #expect(!showsSecrets)
  }
}

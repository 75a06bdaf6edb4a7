#if Tracing
public import SessionToolsBase
import Tracing

extension ObservedStore {
  /// Makes each operation of a store a span.
  ///
  /// The spans are `session_tools.store.get`, `.contains`, `.apply` and `.names`, children of the
  /// caller's, by the tracer that is bootstrapped when the operation begins. A failed one has the
  /// status `error` and, as `error.type`, the code of the `StoreError`. None has a name of an item.
  ///
  /// - Parameters:
  ///   - base: The store.
  ///   - isRemote: Whether the store is a database, whose spans are of the kind `client`.
  public init(tracing base: some SecretStore, isRemote: Bool) {
    self.init(base, SpanObserver(kind: isRemote ? .client : .internal))
  }
}

extension SessionRefresher {
  /// Returns the refresher with a span, `session_tools.refresh.request`, around each request to its
  /// handler.
  ///
  /// It begins a trace of its own, by the tracer that is bootstrapped: a refresh is shared by
  /// requests of several traces, and belongs to none of them.
  ///
  /// The attribute `session_tools.outcome` is `refreshed`, `rejected` or `failed`; a failed request
  /// has the status `error`, and neither an error's text nor anything of an item is in it.
  public func traced() -> SessionRefresher {
    wrapped(by: { request, refresh in
      // Not withSpan, which records errors with their texts.
      let span = startSpan("session_tools.refresh.request", ofKind: .client)
      defer { span.end() }
      do {
        let outcome = try await ServiceContext.$current.withValue(span.context) {
          try await refresh(request)
        }
        switch outcome {
        case .refreshed: span.attributes["session_tools.outcome"] = "refreshed"
        case .rejected: span.attributes["session_tools.outcome"] = "rejected"
        case .transientFailure: span.fail()
        }
        return outcome
      } catch {
        span.fail()
        throw error
      }
    })
  }
}

extension Span {
  fileprivate func fail() {
    attributes["session_tools.outcome"] = "failed"
    setStatus(SpanStatus(code: .error))
  }
}

private struct SpanObserver: StoreObserver {
  let kind: SpanKind

  func observe<Result>(
    _ operation: StoreOperation, of store: any SecretStore,
    _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    let span = span(of: operation)
    defer { span.end() }
    do throws(StoreError) {
      return try body()
    } catch {
      span.fail(error)
      throw error
    }
  }

  func observe<Result>(
    _ operation: StoreOperation, of store: any SecretStore,
    _ body: () async throws(StoreError) -> Result
  ) async throws(StoreError) -> Result {
    let span = span(of: operation)
    defer { span.end() }
    do throws(StoreError) {
      return try await body()
    } catch {
      span.fail(error)
      throw error
    }
  }

  private func span(of operation: StoreOperation) -> any Span {
    startSpan("session_tools.store.\(operation.rawValue)", ofKind: kind)
  }
}

extension Span {
  fileprivate func fail(_ error: StoreError) {
    attributes["error.type"] = error.code.description
    setStatus(SpanStatus(code: .error))
  }
}
#endif

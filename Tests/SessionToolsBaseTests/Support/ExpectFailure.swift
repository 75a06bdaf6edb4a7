import SessionToolsBase
import Testing

/// Expects a store's error with a code.
@discardableResult
func expectFailure(
  _ code: StoreError.Code, sourceLocation: SourceLocation = #_sourceLocation,
  _ body: () throws -> some Any
) -> StoreError? {
  let error = #expect(throws: StoreError.self, sourceLocation: sourceLocation) { _ = try body() }
  #expect(error?.code == code, sourceLocation: sourceLocation)
  return error
}

/// Expects a store's error with a code.
@discardableResult
func expectFailure(
  _ code: StoreError.Code, sourceLocation: SourceLocation = #_sourceLocation,
  _ body: () async throws -> some Any
) async -> StoreError? {
  let error = await #expect(throws: StoreError.self, sourceLocation: sourceLocation) {
    _ = try await body()
  }
  #expect(error?.code == code, sourceLocation: sourceLocation)
  return error
}

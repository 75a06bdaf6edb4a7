import SessionToolsBase
import Testing

/// Returns the code of the error that a closure throws, or `nil` if it throws none.
func failure(of body: () async throws -> some Any) async -> StoreError.Code? {
  do {
    _ = try await body()
    return nil
  } catch let error as StoreError {
    return error.code
  } catch {
    Issue.record("\(error)")
    return nil
  }
}

import SessionToolsBase
import Testing

/// The code of the error that a closure throws; `nil` when it throws none.
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

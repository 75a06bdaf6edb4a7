import Dispatch
import Synchronization

/// Makes the results of independent pieces of work on as many threads as there are processors, one
/// of which is the caller's, and returns them in order.
///
/// It blocks until all pieces are done.
///
/// - Throws: The error of the first piece that has one.
package func concurrentMap<Output: Sendable, Failure: Error>(
  count: Int, _ body: @Sendable (Int) throws(Failure) -> Output
) throws(Failure) -> [Output] {
  if count == 1 { return [try body(0)] }
  let outputs = Mutex([Result<Output, Failure>?](repeating: nil, count: count))
  DispatchQueue.concurrentPerform(iterations: count) { index in
    let output: Result<Output, Failure>
    do throws(Failure) { output = .success(try body(index)) } catch { output = .failure(error) }
    outputs.withLock { $0[index] = output }
  }
  var inOrder: [Output] = []
  for output in outputs.withLock({ $0 }) {
    guard let output else { preconditionFailure("a piece of work was left out") }
    inOrder.append(try output.get())
  }
  return inOrder
}

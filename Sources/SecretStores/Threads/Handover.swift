/// A value that is passed to another thread.
///
/// The unchecked conformance is true because the creator gives the value up: it is passed as
/// `sending`.
package struct Handover<Value>: @unchecked Sendable {
  package let value: Value

  package init(_ value: sending Value) {
    self.value = value
  }
}

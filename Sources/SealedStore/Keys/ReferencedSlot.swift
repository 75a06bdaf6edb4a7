/// What a slot says whose reference has a scheme of this package.
package protocol ReferencedSlot: Hashable, Sendable {
  /// Reads a reference; `nil` when it is not exactly one of such a slot.
  init?(_ reference: KeyReference)
}

extension ReferencedSlot {
  /// Reads the parameters of a slot; `nil` when it is not exactly such a slot.
  package init?(_ parameters: KeySlot.Parameters) {
    guard case .namedKey(let text) = parameters, let reference = KeyReference(text) else {
      return nil
    }
    self.init(reference)
  }
}

package import SessionToolsBase

/// The name of an item as JSON.
package struct ItemOutput: Encodable {
  @Nullable private var group: String?
  private let identifier: String
  @Nullable private var install: String?
  private let service: String

  package init(_ key: StoreKey) {
    group = key.namespace.accessGroup
    identifier = key.identifier
    install = key.namespace.install?.rawValue
    service = key.namespace.service
  }
}

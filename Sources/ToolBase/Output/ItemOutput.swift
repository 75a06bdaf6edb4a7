package import SessionToolsBase

/// The name of an item as JSON.
package struct ItemOutput: Encodable {
  @Nullable private var group: String?
  private let identifier: String
  @Nullable private var install: String?
  private let service: String

  package init(_ name: ItemName) {
    group = name.namespace.accessGroup
    identifier = name.identifier
    install = name.namespace.install?.rawValue
    service = name.namespace.service
  }
}

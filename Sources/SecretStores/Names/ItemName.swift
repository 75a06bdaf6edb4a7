/// The full name of an item: its namespace and its identifier.
public struct ItemName: Hashable, Sendable {
  /// The namespace in which the identifier is unique.
  public let namespace: StoreNamespace
  let name: Name

  /// Names an item.
  ///
  /// - Parameters:
  ///   - identifier: The item's name within its namespace; 1 to 4,096 bytes of UTF-8.
  ///   - namespace: The namespace in which the identifier is unique.
  /// - Throws: `invalidName` when the identifier is empty or too long.
  public init(_ identifier: String, in namespace: StoreNamespace) throws(StoreError) {
    self.namespace = namespace
    name = try Name(identifier, as: "item identifier")
  }

  init(name: Name, namespace: StoreNamespace) {
    self.name = name
    self.namespace = namespace
  }

  /// The item's name within its namespace.
  public var identifier: String { name.text }

  /// Returns the name of the same identifier in another namespace.
  public func moved(to namespace: StoreNamespace) -> ItemName {
    ItemName(name: name, namespace: namespace)
  }
}

extension ItemName {
  private static let refreshPrefix = "org.session-tools.refresh:"

  /// The name to which a refresh of the item has exclusive access; nothing is stored under it.
  ///
  /// A name of its own, so that a program that holds the item's can ask for a valid item.
  package var refreshLock: ItemName { prefixed(by: Self.refreshPrefix) }

  /// The name to which a change that depends on the item has exclusive access, where the store does
  /// not compare items itself; nothing is stored under it.
  package var changeLock: ItemName { prefixed(by: "org.session-tools.change:") }

  /// The item whose refreshes have exclusive access to this name; `nil` for other names.
  package var itemOfRefreshLock: ItemName? {
    guard identifier.utf8.starts(with: Self.refreshPrefix.utf8) else { return nil }
    let item = identifier.utf8.dropFirst(Self.refreshPrefix.utf8.count)
    return try? ItemName(String(decoding: item, as: UTF8.self), in: namespace)
  }

  private func prefixed(by prefix: String) -> ItemName {
    ItemName(name: Name(prefix: prefix, name), namespace: namespace)
  }
}

extension ItemName: Comparable {
  /// Orders by service, access group, install and identifier, byte for byte; an absent part
  /// comes before any present one.
  public static func < (left: ItemName, right: ItemName) -> Bool {
    let order = left.namespace.order(beside: right.namespace)
    return order == 0 ? left.name < right.name : order < 0
  }
}

extension [ItemName] {
  /// Sorts names, unless they are already in ascending order.
  package mutating func sortUnlessAscending() {
    if isAscending { return }
    guard let first, allSatisfy({ $0.namespace.isSameObject(as: first.namespace) }) else {
      return sort()
    }
    // A few bytes behind what all names begin with decide nearly always, and are compared in a
    // tenth of the time.
    let start = reduce(first.name.text.utf8.count) {
      first.name.sharedByteCount($1.name, atMost: $0)
    }
    let names = self
    let order = names.indices.map { (bytes: names[$0].name.eightBytes(from: start), place: $0) }
      .sorted { left, right in
        left.bytes == right.bytes
          ? names[left.place].name < names[right.place].name : left.bytes < right.bytes
      }
    self = order.map { names[$0.place] }
  }

  private var isAscending: Bool {
    let names = span
    var position = 1
    while position < names.count {
      if names[position] < names[position - 1] { return false }
      position += 1
    }
    return true
  }
}

extension ItemName: CustomStringConvertible {
  /// The parts for a person to read, without absent ones, in one line.
  ///
  /// Characters that would end the line, or act on a terminal, are written as `\n` or `\u{1b}`.
  public var description: String {
    var text = "\(identifier) of \(namespace.service)"
    if let group = namespace.accessGroup { text += ", group \(group)" }
    if let install = namespace.install { text += ", install \(install.rawValue)" }
    return text.escapingControls()
  }
}

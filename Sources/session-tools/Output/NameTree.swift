import SessionToolsBase

/// The names of items as a tree, whose branches are the parts of the names.
struct NameTree {
  private final class Node {
    /// The names of the children, in the order of their first use.
    var names: [String] = []
    var children: [String: Node] = [:]

    /// Returns the child of a name, which is made if it is not there.
    func child(_ name: String) -> Node {
      if let child = children[name] { return child }
      let child = Node()
      names.append(name)
      children[name] = child
      return child
    }
  }

  private let root = Node()

  init(_ keys: [StoreKey]) {
    for key in keys {
      var node = root
      for part in Self.parts(of: key) { node = node.child(part) }
    }
  }

  /// Groups and installations have their kind before them, so that they are not taken for
  /// identifiers.
  private static func parts(of key: StoreKey) -> [String] {
    var parts = [key.namespace.service]
    if let group = key.namespace.accessGroup { parts.append("group \(group)") }
    if let install = key.namespace.install { parts.append("install \(install.rawValue)") }
    return parts
      + key.identifier.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
  }

  /// A line for each part, with controls escaped as in a table.
  var text: String {
    var lines: [String] = []
    for name in root.names {
      lines.append(Self.escaped(name))
      append(root.child(name), indentation: "", to: &lines)
    }
    return lines.map { $0 + "\n" }.joined()
  }

  private func append(_ node: Node, indentation: String, to lines: inout [String]) {
    for name in node.names {
      let isLast = name == node.names.last
      lines.append(indentation + (isLast ? "└── " : "├── ") + Self.escaped(name))
      append(node.child(name), indentation: indentation + (isLast ? "    " : "│   "), to: &lines)
    }
  }

  private static func escaped(_ name: String) -> String {
    name.escapingControls(escapingBackslashes: true)
  }
}

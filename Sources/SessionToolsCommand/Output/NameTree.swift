import SessionToolsBase

/// The names of items as a tree, whose branches are the parts of the names.
struct NameTree {
  private final class Node {
    let name: String
    /// In the order of the items.
    var children: [Node] = []

    init(_ name: String) {
      self.name = name
    }

    /// Returns the child of a name, which is made if it is not there.
    ///
    /// Items come sorted, so that it is the last child or none. Names are compared byte for byte.
    func child(_ name: String) -> Node {
      if let last = children.last, last.name.utf8.elementsEqual(name.utf8) { return last }
      let child = Node(name)
      children.append(child)
      return child
    }
  }

  private let root = Node("")

  /// Makes the tree of some names, in ascending order.
  init(_ names: [ItemName]) {
    for name in names {
      var node = root
      for part in Self.parts(of: name) { node = node.child(part) }
    }
  }

  /// Returns the service, then the group and the installation with their kind in front, then the
  /// identifier, split behind its slashes.
  ///
  /// `a` and `a/b` are a leaf `a` and a branch `a/`. The start of a URL, `https://`, is one part.
  private static func parts(of name: ItemName) -> [String] {
    var parts = [name.namespace.service]
    if let group = name.namespace.accessGroup { parts.append("group \(group)") }
    if let install = name.namespace.install { parts.append("install \(install.rawValue)") }
    var names = name.identifier.split(separator: "/", omittingEmptySubsequences: false)
      .map(String.init)
    if names.count > 2, names[0].last == ":", names[1].isEmpty {
      names.replaceSubrange(0...1, with: [names[0] + "/"])
    }
    let leaf = names.removeLast()
    return parts + names.map { $0 + "/" } + [leaf]
  }

  /// A line for each part, with controls escaped as in a table.
  var text: String {
    var lines: [String] = []
    for node in root.children {
      lines.append(Self.escaped(node.name))
      Self.append(node, indentation: "", to: &lines)
    }
    return lines.map { $0 + "\n" }.joined()
  }

  private static func append(_ node: Node, indentation: String, to lines: inout [String]) {
    for (position, child) in node.children.enumerated() {
      let isLast = position == node.children.count - 1
      lines.append(indentation + (isLast ? "└── " : "├── ") + escaped(child.name))
      append(child, indentation: indentation + (isLast ? "    " : "│   "), to: &lines)
    }
  }

  private static func escaped(_ name: String) -> String {
    name.escapingControls(escapingBackslashes: true)
  }
}

import Glibc
import SessionToolsBase

/// The files, directories, descriptors and locks of a ``MemoryFileSystem``.
struct MemoryFiles {
  /// A file, or a directory when it has entries.
  struct Node {
    var permissions: UInt32
    var content: [UInt8] = []
    var entries: [String: Int]?
    var linkCount = 0

    mutating func write(_ bytes: [UInt8], at offset: Int) {
      guard !bytes.isEmpty else { return }
      if content.count < offset + bytes.count { resize(to: offset + bytes.count) }
      content.replaceSubrange(offset..<offset + bytes.count, with: bytes)
    }

    mutating func resize(to byteCount: Int) {
      if content.count > byteCount {
        content.removeLast(content.count - byteCount)
      } else {
        content += [UInt8](repeating: 0, count: byteCount - content.count)
      }
    }
  }

  struct Opening {
    let node: Int
    let isWritable: Bool
  }

  struct LockPlace: Hashable {
    let node: Int
    let byte: Int
  }

  private static let root = 1
  /// Far above the kernel's numbers, so that a misused descriptor closes no file of this process.
  private static let firstDescriptor: Int32 = 1 << 20

  var nodes = [root: Node(permissions: 0o755, entries: [:], linkCount: 1)]
  var open: [Descriptor: Opening] = [:]
  var locks: [LockPlace: Descriptor] = [:]
  private var nodeCount = root
  private var descriptorCount: Int32 = 0

  mutating func make(_ node: Node) -> Int {
    nodeCount += 1
    nodes[nodeCount] = node
    return nodeCount
  }

  mutating func descriptor(of node: Int, isWritable: Bool) -> Descriptor {
    descriptorCount += 1
    let descriptor = Descriptor(rawValue: Self.firstDescriptor + descriptorCount)
    open[descriptor] = Opening(node: node, isWritable: isWritable)
    return descriptor
  }

  mutating func close(_ descriptor: Descriptor) {
    guard let opening = open.removeValue(forKey: descriptor) else { return }
    locks = locks.filter { $0.value != descriptor }
    forget(opening.node)
  }

  /// Returns the node of an absolute path.
  func resolve(_ path: String, _ call: String) throws(SystemCallError) -> Int {
    var node = Self.root
    for part in path.split(separator: "/") where part != "." {
      guard let entries = nodes[node]?.entries else { throw SystemCallError(call, ENOTDIR) }
      guard let next = entries[String(part)] else { throw SystemCallError(call, ENOENT) }
      node = next
    }
    return node
  }

  func resolveParent(
    of path: String, _ call: String
  ) throws(SystemCallError) -> (parent: Int, name: String) {
    guard let name = path.split(separator: "/").last else { throw SystemCallError(call, EEXIST) }
    return (try resolve(path.parentPath, call), String(name))
  }

  func node(_ descriptor: Descriptor, _ call: String) throws(SystemCallError) -> Int {
    guard let opening = open[descriptor] else { throw SystemCallError(call, EBADF) }
    return opening.node
  }

  func writableNode(
    _ descriptor: Descriptor, _ call: String, orElse code: Int32
  ) throws(SystemCallError) -> Int {
    let node = try node(descriptor, call)
    guard open[descriptor]?.isWritable == true else { throw SystemCallError(call, code) }
    return node
  }

  func directory(_ descriptor: Descriptor, _ call: String) throws(SystemCallError) -> Int {
    let node = try node(descriptor, call)
    guard nodes[node]?.entries != nil else { throw SystemCallError(call, ENOTDIR) }
    return node
  }

  func entries(of node: Int) throws(SystemCallError) -> [String: Int] {
    guard let entries = nodes[node]?.entries else { throw SystemCallError("openat", ENOTDIR) }
    return entries
  }

  func node(_ name: String, in parent: Int, _ call: String) throws(SystemCallError) -> Int {
    guard let node = try entries(of: parent)[name] else { throw SystemCallError(call, ENOENT) }
    return node
  }

  /// Gives a name to a node, or removes the name, and counts links.
  mutating func setEntry(
    _ name: String, in parent: Int, to node: Int?
  ) throws(SystemCallError) {
    guard nodes[parent]?.linkCount ?? 0 > 0 else { throw SystemCallError("openat", ENOENT) }
    if let node { nodes[node]?.linkCount += 1 }
    let old = nodes[parent]?.entries?[name]
    nodes[parent]?.entries?[name] = node
    if let old {
      nodes[old]?.linkCount -= 1
      forget(old)
    }
  }

  func status(of number: Int) -> FileStatus {
    let node = nodes[number] ?? Node(permissions: 0)
    return FileStatus(
      kind: node.entries == nil ? .regular : .directory, permissions: node.permissions,
      owner: CurrentProcess.user, linkCount: node.linkCount, byteCount: node.content.count,
      device: 1, inode: UInt64(number))
  }

  /// Deletes a file that has no name and is not open.
  private mutating func forget(_ node: Int) {
    if nodes[node]?.linkCount == 0, !open.values.contains(where: { $0.node == node }) {
      nodes[node] = nil
    }
  }
}

/// Elements in the order in which they came, each let go when it is taken.
///
/// A slice of an array takes from its front as fast, but keeps what was taken until it needs another
/// buffer.
struct FIFO<Element> {
  private var elements: [Element?] = []
  /// The first one that was not taken; those in front of it are empty, and removed together.
  private var start = 0

  /// The next one; `nil` when it is empty.
  var first: Element? { start < elements.count ? elements[start] : nil }

  mutating func append(_ element: Element) {
    elements.append(element)
  }

  /// Takes the next one; `nil` when it is empty.
  mutating func popFirst() -> Element? {
    guard let first else { return nil }
    elements[start] = nil
    start += 1
    if start >= elements.count - start {
      elements.removeFirst(start)
      start = 0
    }
    return first
  }

  /// Takes all.
  mutating func popAll() -> [Element] {
    defer { self = FIFO() }
    return elements[start...].compactMap(\.self)
  }
}

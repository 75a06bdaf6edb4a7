/// Elements in order of arrival, each released when it is taken.
///
/// An array slice removes its first element as fast, but retains removed elements until it needs
/// another buffer.
package struct FIFO<Element> {
  private var elements: [Element?] = []
  /// The position of the first element; the positions before it are empty, and removed together.
  private var start = 0

  package init() {}

  /// The next element; `nil` when the queue is empty.
  package var first: Element? { start < elements.count ? elements[start] : nil }

  package mutating func append(_ element: Element) {
    elements.append(element)
  }

  /// Removes and returns the next element; `nil` when the queue is empty.
  package mutating func popFirst() -> Element? {
    guard let first else { return nil }
    elements[start] = nil
    start += 1
    if start >= elements.count - start {
      elements.removeFirst(start)
      start = 0
    }
    return first
  }

  /// Removes and returns all elements.
  package mutating func popAll() -> [Element] {
    defer { self = FIFO() }
    return elements[start...].compactMap(\.self)
  }
}

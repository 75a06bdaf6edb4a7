/// Elements in order of arrival, each released when it is taken.
///
/// An array slice removes its first element as fast, but retains removed elements until it needs
/// another buffer.
struct FIFO<Element> {
  private var elements: [Element?] = []
  /// The position of the first element; the positions before it are empty, and removed together.
  private var start = 0

  /// The next element; `nil` when the queue is empty.
  var first: Element? { start < elements.count ? elements[start] : nil }

  mutating func append(_ element: Element) {
    elements.append(element)
  }

  /// Removes and returns the next element; `nil` when the queue is empty.
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

  /// Removes and returns all elements.
  mutating func popAll() -> [Element] {
    defer { self = FIFO() }
    return elements[start...].compactMap(\.self)
  }
}

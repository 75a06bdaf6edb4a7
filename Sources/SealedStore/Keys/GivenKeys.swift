import SessionToolsBase

/// The keys of some sources for the slots of a header, fetched before they are needed.
struct GivenKeys {
  /// The answer of a source for a slot.
  enum Answer {
    case key(WrappingKey)
    case notMine
  }

  private let sources: [any KeySource]
  /// The answers of each source, in the order of the sources.
  private(set) var answers: [[KeySlot.Parameters: Answer]]

  init(of sources: [any KeySource]) {
    self.sources = sources
    answers = sources.map { _ in [:] }
  }

  /// Asks each source for each slot that it has not been asked for.
  ///
  /// A source that opened a slot and then throws an error that ends the search is not asked for
  /// the remaining slots.
  ///
  /// - Throws: A source's errors; `corrupt` when a slot is for a key but does not open with it.
  mutating func ask(for header: Header, path: String) throws(StoreError) {
    for (position, source) in sources.enumerated() {
      var opensAny = false
      var hasEnded = false
      for slot in header.slots {
        guard let parameters = slot.parameters, answers[position][parameters] == nil else {
          continue
        }
        var answer = Answer.notMine
        do throws(StoreError) {
          if !hasEnded, let key = try source.wrappingKey(for: parameters) {
            answer = .key(key)
            let storeKey = try header.unwrapStoreKey(in: slot, with: key, path: path)
            opensAny = opensAny || storeKey != nil
          }
        } catch let error where error.endsSearch && opensAny {
          hasEnded = true
        }
        answers[position][parameters] = answer
      }
    }
  }

  /// Returns whether all sources were asked for all slots of a header.
  func haveAnswered(for header: Header) -> Bool {
    let slots = header.slots.compactMap(\.parameters)
    return answers.allSatisfy { answers in slots.allSatisfy { answers[$0] != nil } }
  }
}

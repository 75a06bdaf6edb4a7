import Foundation
import SessionToolsBase

/// A target that refreshes with a closure.
struct Target: Refreshable, Sendable {
  var name = ""
  var run: @Sendable (@escaping RefreshCompletion) -> Void

  func refresh(completion: @escaping RefreshCompletion) { run(completion) }

  static func fails(_ name: String) -> Target {
    Target(name: name) { $0(.unableToRefresh(error: TestError(text: name))) }
  }
  static let works = Target { $0(nil) }
  static let callsTwice = Target { completion in
    completion(nil)
    completion(.noToken)
  }
  static let drops = Target { _ in }

  /// Returns a target that answers later, from a thread of its own.
  static func later(_ error: RefreshError?) -> Target {
    Target { completion in
      let completion = Unchecked(value: completion)
      Thread.detachNewThread { completion.value(error) }
    }
  }
}

struct Unchecked<Value>: @unchecked Sendable {
  let value: Value
}

extension RefreshError {
  var word: String {
    switch self {
    case .noToken: "noToken"
    case .unableToRefresh(SessionError.noRefreshHandler): "missing"
    case .unableToRefresh(SessionError.abandoned): "abandoned"
    case .unableToRefresh(let error as TestError): error.text
    case .unableToRefresh: "?"
    }
  }
}

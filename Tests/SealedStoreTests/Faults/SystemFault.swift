import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import Testing

/// A way in which a system call fails.
struct SystemFault: Sendable, CustomTestStringConvertible {
  enum Shape: Sendable {
    /// The call fails.
    case error
    /// A write writes half of its bytes, and the next write fails.
    case halfThenError
    /// A write writes half of its bytes, and no call fails.
    case half
  }

  let name: String
  let errno: Int32
  var shape = Shape.error
  /// Whether all calls of that kind fail from then on.
  let isForGood: Bool

  var testDescription: String { "\(name), \(isForGood ? "permanently" : "once")" }

  static let all = [false, true].flatMap { isForGood in
    [
      SystemFault(name: "EIO", errno: EIO, isForGood: isForGood),
      SystemFault(name: "ENOSPC", errno: ENOSPC, isForGood: isForGood),
      SystemFault(name: "EDQUOT", errno: EDQUOT, isForGood: isForGood),
      SystemFault(name: "EINTR", errno: EINTR, isForGood: isForGood),
      SystemFault(name: "EMFILE", errno: EMFILE, isForGood: isForGood),
      SystemFault(name: "ENOLCK", errno: ENOLCK, isForGood: isForGood),
      SystemFault(
        name: "half a write, then EIO", errno: EIO, shape: .halfThenError, isForGood: isForGood),
      SystemFault(
        name: "half a write, then ENOSPC", errno: ENOSPC, shape: .halfThenError,
        isForGood: isForGood),
      SystemFault(name: "half a write", errno: 0, shape: .half, isForGood: isForGood),
    ]
  }

  /// The error that the caller receives.
  var code: StoreError.Code {
    errno == ENOSPC || errno == EDQUOT ? StoreError.noSpace : StoreError.io
  }

  var concernsWritesAlone: Bool { shape != .error }

  /// Returns a rule that lets the n-th call fail.
  func rule(at number: Int) -> FaultyFileSystem.Rule {
    let hit = Locked<FaultyFileSystem.Call.Kind?>(nil)
    return { [self] call in
      hit.withLock { kind in
        if call.number == number, shape == .error || call.kind == .write {
          kind = call.kind
          return shape == .error ? .fail(errno) : .short(max(1, call.byteCount / 2))
        }
        guard call.kind == kind else { return nil }
        switch shape {
        case .error: return isForGood ? .fail(errno) : nil
        case .half: return isForGood ? .short(max(1, call.byteCount / 2)) : nil
        case .halfThenError:
          if !isForGood { kind = nil }
          return .fail(errno)
        }
      }
    }
  }
}

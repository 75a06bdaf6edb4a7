import Foundation
/// An error of a store; its code says which action it calls for.
///
/// Catch the cases you act on by their code:
///
/// ```swift
/// do {
///   user = try session.item()
/// } catch StoreError.locked {
///   askForPassphrase()
/// }
/// ```
///
/// The text of an error names the store, the problem and the fix. It may name items, and never
/// shows a value, a key or a passphrase.
public struct StoreError: SessionToolsError {
  /// The kind of failure.
  public let code: Code
  /// The store, as a person would name it: a path, or the kind of store.
  public let store: String
  /// What happened: one sentence without its full stop.
  public let reason: String
  /// What to do about it: one sentence without its full stop; `nil` when there is nothing to do.
  public let remedy: String?
  /// The system's error number behind it, if there is one.
  public let errno: Int32?
  /// The error of another library behind it, if there is one.
  ///
  /// For programs to examine; it is not part of the description, because such errors may quote
  /// their input.
  public let underlying: (any Error)?
  /// Whether the same call may succeed later, without anyone doing anything: the database cannot be
  /// reached now, others were faster, or the machine had no memory or descriptors left.
  public let isTransient: Bool
  /// What the tools of this package have advice of their own for.
  package private(set) var detail: Detail?

  /// Makes an error; stores outside this package use this initializer as well.
  ///
  /// It is transient by default if its code is `timedOut`, `changed` or `exclusionLost`.
  public init(
    _ code: Code, store: String, reason: String, remedy: String? = nil, errno: Int32? = nil,
    underlying: (any Error)? = nil, isTransient: Bool? = nil
  ) {
    self.isTransient =
      isTransient ?? [.timedOut, .changed, .exclusionLost].contains(code)
    self.code = code
    self.store = store
    self.reason = reason
    self.remedy = remedy
    self.errno = errno
    self.underlying = underlying
  }

  /// A cause that needs other advice than others with the same code.
  package enum Detail: Sendable {
    /// There is no store at this place.
    case noStore
    /// No slot of the store opens with a key of this kind.
    case otherKindOfKey
    /// The collection of this name, or the default one, is locked.
    case lockedCollection(String?)
    /// The address of a database contains its password.
    case passwordInAddress
    /// The address of a database allows servers that prove nothing.
    case unprovenServer
    /// The name of a schema cannot be used.
    case schemaName
  }

  /// Returns the error with its cause.
  package func with(_ detail: Detail) -> StoreError {
    var error = self
    error.detail = detail
    return error
  }

  /// Returns the error with other advice.
  package func advising(_ remedy: String) -> StoreError {
    var error = StoreError(
      code, store: store, reason: reason, remedy: remedy, errno: errno, underlying: underlying,
      isTransient: isTransient)
    error.detail = detail
    return error
  }

  /// Returns the error with more about what happened.
  package func adding(_ more: String) -> StoreError {
    var error = StoreError(
      code, store: store, reason: "\(reason); \(more)", remedy: remedy, errno: errno,
      underlying: underlying, isTransient: isTransient)
    error.detail = detail
    return error
  }

  /// A kind of failure; later versions may add kinds, so a `switch` needs a `default`.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// The name of the kind.
    public let description: String

    package init(_ name: String) {
      description = name
    }
  }
}

extension StoreError.Code {
  /// The store is locked: its keys are not in memory, or its service waits for a password.
  public static let locked = StoreError.Code("locked")
  /// There is no store there, or its service cannot be reached.
  public static let unavailable = StoreError.Code("unavailable")
  /// A user was asked to unlock the store and dismissed the prompt.
  public static let promptDismissed = StoreError.Code("promptDismissed")
  /// The system refused access.
  public static let accessDenied = StoreError.Code("accessDenied")
  /// The key or passphrase given does not open this store.
  public static let wrongKey = StoreError.Code("wrongKey")
  /// A key that opens stores of others, too, opens this one, and it is not known to be the one that
  /// is meant; nothing was read or written.
  public static let wrongStore = StoreError.Code("wrongStore")
  /// The token or hardware key for the store accepts no more guesses, or none for a while.
  public static let keyBlocked = StoreError.Code("keyBlocked")
  /// The key for the store could not be found.
  public static let keyMissing = StoreError.Code("keyMissing")
  /// The stored data was damaged or forged; nothing was removed because of it.
  public static let corrupt = StoreError.Code("corrupt")
  /// The item is intact, but cannot be decoded as the caller's type.
  public static let undecodable = StoreError.Code("undecodable")
  /// The item could not be turned into bytes; nothing was stored.
  public static let unencodable = StoreError.Code("unencodable")
  /// The store was made by a newer version of its format.
  public static let unsupportedVersion = StoreError.Code("unsupportedVersion")
  /// The value is larger than the store accepts.
  public static let valueTooLarge = StoreError.Code("valueTooLarge")
  /// A service name, group, install or item identifier is empty or too long.
  public static let invalidName = StoreError.Code("invalidName")
  /// A key, passphrase or parameter given cannot be used.
  public static let invalidKey = StoreError.Code("invalidKey")
  /// The store or item already exists.
  public static let alreadyExists = StoreError.Code("alreadyExists")
  /// An item was changed by someone else meanwhile, and was left unchanged.
  public static let changed = StoreError.Code("changed")
  /// Exclusive access ended before its closure did, because this process did not run or could not
  /// reach the store for too long; nothing was changed.
  public static let exclusionLost = StoreError.Code("exclusionLost")
  /// Files of the store, or of a key, could be read or replaced by others.
  public static let unsafePermissions = StoreError.Code("unsafePermissions")
  /// The disk or quota is full, or a file size limit is reached; nothing was changed.
  public static let noSpace = StoreError.Code("noSpace")
  /// The operation was not finished in time; nothing was changed.
  public static let timedOut = StoreError.Code("timedOut")
  /// The task was cancelled; nothing was changed.
  public static let cancelled = StoreError.Code("cancelled")
  /// It is not known whether the change was made, or all of it.
  ///
  /// The disk, the service or the server did not confirm it: read again.
  public static let outcomeUnknown = StoreError.Code("outcomeUnknown")
  /// Another system call failed.
  public static let io = StoreError.Code("io")
}

/// The codes, for `catch` clauses such as `catch StoreError.locked`.
extension StoreError {
  /// The code ``Code/locked``.
  public static let locked = Code.locked
  /// The code ``Code/unavailable``.
  public static let unavailable = Code.unavailable
  /// The code ``Code/promptDismissed``.
  public static let promptDismissed = Code.promptDismissed
  /// The code ``Code/accessDenied``.
  public static let accessDenied = Code.accessDenied
  /// The code ``Code/wrongKey``.
  public static let wrongKey = Code.wrongKey
  /// The code ``Code/wrongStore``.
  public static let wrongStore = Code.wrongStore
  /// The code ``Code/keyBlocked``.
  public static let keyBlocked = Code.keyBlocked
  /// The code ``Code/keyMissing``.
  public static let keyMissing = Code.keyMissing
  /// The code ``Code/corrupt``.
  public static let corrupt = Code.corrupt
  /// The code ``Code/undecodable``.
  public static let undecodable = Code.undecodable
  /// The code ``Code/unencodable``.
  public static let unencodable = Code.unencodable
  /// The code ``Code/unsupportedVersion``.
  public static let unsupportedVersion = Code.unsupportedVersion
  /// The code ``Code/valueTooLarge``.
  public static let valueTooLarge = Code.valueTooLarge
  /// The code ``Code/invalidName``.
  public static let invalidName = Code.invalidName
  /// The code ``Code/invalidKey``.
  public static let invalidKey = Code.invalidKey
  /// The code ``Code/alreadyExists``.
  public static let alreadyExists = Code.alreadyExists
  /// The code ``Code/changed``.
  public static let changed = Code.changed
  /// The code ``Code/exclusionLost``.
  public static let exclusionLost = Code.exclusionLost
  /// The code ``Code/unsafePermissions``.
  public static let unsafePermissions = Code.unsafePermissions
  /// The code ``Code/noSpace``.
  public static let noSpace = Code.noSpace
  /// The code ``Code/timedOut``.
  public static let timedOut = Code.timedOut
  /// The code ``Code/cancelled``.
  public static let cancelled = Code.cancelled
  /// The code ``Code/outcomeUnknown``.
  public static let outcomeUnknown = Code.outcomeUnknown
  /// The code ``Code/io``.
  public static let io = Code.io
}

extension StoreError.Code {
  /// Lets `catch StoreError.locked` match an error by its code.
  public static func ~= (code: StoreError.Code, error: any Error) -> Bool {
    (error as? StoreError)?.code == code
  }
}

extension StoreError: CustomStringConvertible {
  /// The store, what happened, and what to do, in one line.
  ///
  /// Names and paths may contain anything: characters that would end the line, or act on a
  /// terminal, are written as `\n` or `\u{1b}`.
  public var description: String {
    let end = remedy.map { ". \($0)." } ?? "."
    return "\(store): \(reason)\(end)".escapingControls()
  }
}

import SecretStores
import Foundation

extension UserAccounts {
  /// Signs any number of users in, such as when users are imported into a service.
  ///
  /// Each user is signed in as by ``signIn(_:as:)``: sessions and streams see the change, a refresh
  /// of the account that is under way does not replace the new user, and a notification is posted.
  /// The current account stays the same.
  ///
  /// The users are stored in ascending order of their accounts, in as few parts as the store's
  /// limits allow (`StoreTraits.maximumChangeCount` and `StoreTraits.maximumListByteCount`), and at
  /// most 10,000 users in one. A user takes two changes, so that a part has up to 500 users in a
  /// database store, and 10,000 in a file store. Each part is stored as a whole or not at all,
  /// where `StoreTraits.isAtomic` holds. Other stores store one user after the other, and throw
  /// `outcomeUnknown` when they stored only some of a part. The notifications of a part, in
  /// ascending order, are posted when all of its users are stored.
  ///
  /// Users that cannot be encoded and those that are too large are refused before any user is
  /// stored. If a later part fails, the error says how many users were signed in before: those are
  /// the first in ascending order, and they stay signed in, with their notifications posted.
  /// Signing in the others, or all of them again, is safe.
  ///
  /// Blocks no thread of the cooperative pool. Stores of this package make a change in one step,
  /// except the Secret Service. There, and in stores of others, other changes of these accounts
  /// wait until all users of a part are stored, in all processes where
  /// `StoreTraits.excludesOtherProcesses` holds; calls that have accounts in common wait for each
  /// other, but never deadlock.
  ///
  /// - Parameter users: The users by their accounts.
  /// - Throws: `valueTooLarge`, `unencodable` or `invalidName`; `timedOut` when others changed
  ///   these accounts for 5 s, where changes wait; `cancelled`; and as `SecretStore.apply(_:)`.
  public func signIn(_ users: [AccountIdentifier: User]) async throws {
    let signIns = try pendingSignIns(of: users)
    var rest = signIns[...]
    while !rest.isEmpty {
      let part = rest.prefix(partCount(of: rest))
      do {
        try await signIn(part)
      } catch let error as StoreError where part.startIndex > 0 {
        throw error.adding(
          "before that, the first \(part.startIndex) of \(signIns.count) users were signed in")
      }
      rest = signIns[part.endIndex...]
    }
  }

  /// Returns the sign-ins in ascending order of the accounts.
  private func pendingSignIns(
    of users: [AccountIdentifier: User]
  ) throws(StoreError) -> [PendingSignIn] {
    let maximumByteCount = container.store.traits.maximumValueByteCount
    let encoder = JSONEncoder()
    var signIns: [PendingSignIn] = []
    for account in users.keys.sorted() {
      guard let user = users[account] else { continue }
      let item = try ItemAddress(storageIdentifier, in: container.items(of: account))
      let bytes = try container.coding.bytes(of: user, for: item.name, encoder: encoder)
      guard bytes.byteCount <= maximumByteCount else {
        throw StoreError(
          .valueTooLarge, store: "\(item.name)",
          reason: "the user has \(bytes.byteCount) bytes, and no user was signed in",
          remedy: "A value has at most \(maximumByteCount) bytes")
      }
      signIns.append(
        PendingSignIn(
          account: account, user: UserIdentifier(of: user), item: item,
          changes: item.signIn(bytes)))
    }
    return signIns
  }

  /// Returns how many of the first sign-ins fit into one change of the store; at least one, which
  /// the store may refuse.
  private func partCount(of signIns: ArraySlice<PendingSignIn>) -> Int {
    let traits = container.store.traits
    var (count, changeCount, byteCount) = (0, 0, 0)
    for signIn in signIns.prefix(10_000) {
      changeCount += signIn.changes.count
      byteCount += signIn.changes.reduce(0) { $0 + $1.listByteCount }
      guard
        changeCount <= traits.maximumChangeCount && byteCount <= traits.maximumListByteCount
      else { break }
      count += 1
    }
    return max(1, count)
  }

  /// Signs users in by one change.
  private func signIn(_ part: ArraySlice<PendingSignIn>) async throws {
    let sessions = part.map { session(of: $0.account) }
    var before: [(state: SharedSessionState, unsavedCount: Int)] = []
    var replaced: [UserIdentifier?] = []
    for session in sessions {
      let state = try await session.sharedState()
      before.append((state, state.unsavedCount))
      replaced.append(await session.storedUserIdentifier())
    }
    try await ItemAddress.make(part.flatMap(\.changes), of: part.map(\.item))
    // Before the first notification: an observer may ask any of the sessions.
    for (state, unsavedCount) in before {
      state.reason = .unknown
      state.forgetRefresh(ofFirst: unsavedCount, in: state)
    }
    for (signIn, (session, replaced)) in zip(part, zip(sessions, replaced)) {
      session.announceSignIn(signIn.user, replacing: replaced)
    }
  }
}

/// A user who is about to be signed in.
private struct PendingSignIn {
  let account: AccountIdentifier
  let user: UserIdentifier?
  let item: ItemAddress
  let changes: [StoreChange]
}

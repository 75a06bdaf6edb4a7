import SecretStores
/// When the items of a session expire, by the clock and the rules of its refresher.
struct Expiry<Item: Codable> {
  private let shared: SharedSessionState
  private let refresher: SessionRefresher<Item>

  init(of shared: SharedSessionState, _ refresher: SessionRefresher<Item>) {
    self.shared = shared
    self.refresher = refresher
  }

  /// Returns whether an item expires within the leeway.
  func isDue(_ item: Item) -> Bool {
    guard let expiration = refresher.expiration(item) else { return false }
    let leeway = shared.leeway(
      refresher.policy.leeway, issued: refresher.issue(item), until: expiration)
    return shared.timeLeft(until: expiration, clock: refresher.clock) <= leeway
  }

  /// Returns whether an item has not expired.
  func isValid(_ item: Item) -> Bool {
    guard let expiration = refresher.expiration(item) else { return true }
    return shared.timeLeft(until: expiration, clock: refresher.clock) > .zero
  }
}

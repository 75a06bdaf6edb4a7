import SessionAuthentication

/// Which window is which scene of which gate, so that no window reports or ends another's scene.
///
/// It is used on GTK's thread only: this justifies the unchecked conformance.
final class SceneOwners: @unchecked Sendable {
  static let shared = SceneOwners()

  private struct Key: Hashable {
    /// The gate exists as long as one of its windows.
    let gate: ObjectIdentifier
    let scene: SceneIdentifier
  }

  private var owned: Set<Key> = []

  /// Takes a scene for a window that owns it until `release`.
  ///
  /// - Returns: `false` if another window owns it.
  func take(_ scene: SceneIdentifier, of gate: AuthenticationGate) -> Bool {
    owned.insert(Key(gate: ObjectIdentifier(gate), scene: scene)).inserted
  }

  func release(_ scene: SceneIdentifier, of gate: AuthenticationGate) {
    owned.remove(Key(gate: ObjectIdentifier(gate), scene: scene))
  }
}

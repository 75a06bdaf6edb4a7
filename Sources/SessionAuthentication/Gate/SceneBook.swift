/// The scenes of a program, and which of them are in front.
struct SceneBook {
  private struct Scene {
    var isActive = false
    var isForeground = false
    /// Larger for a scene that was active, or else connected, later.
    var turn: Int
  }

  private var scenes: [SceneIdentifier: Scene] = [:]
  private var lastTurn = 0
  /// A program that never had a scene has none that could leave the front.
  private var hasHadAny = false

  var all: [SceneIdentifier] { Array(scenes.keys) }

  func contains(_ scene: SceneIdentifier) -> Bool { scenes[scene] != nil }

  func isActive(_ scene: SceneIdentifier) -> Bool { scenes[scene]?.isActive ?? false }

  mutating func insert(_ scene: SceneIdentifier) {
    lastTurn += 1
    scenes[scene] = Scene(turn: lastTurn)
    hasHadAny = true
  }

  /// Removes a scene.
  ///
  /// - Returns: Whether the scene existed.
  mutating func remove(_ scene: SceneIdentifier) -> Bool {
    scenes.removeValue(forKey: scene) != nil
  }

  /// Records an event.
  ///
  /// - Returns: Whether the scene exists.
  mutating func handle(_ event: SceneEvent, in scene: SceneIdentifier) -> Bool {
    guard var changed = scenes[scene] else { return false }
    switch event {
    case .didBecomeActive:
      lastTurn += 1
      changed = Scene(isActive: true, isForeground: true, turn: lastTurn)
    case .willResignActive: changed.isActive = false
    case .didEnterBackground: (changed.isActive, changed.isForeground) = (false, false)
    case .willEnterForeground: changed.isForeground = true
    }
    scenes[scene] = changed
    return true
  }

  func isNobodyInFront(by invalidation: GateConfiguration.Invalidation) -> Bool {
    guard hasHadAny else { return false }
    return switch invalidation {
    case .resignActive: !scenes.values.contains(where: \.isActive)
    case .enterBackground: !scenes.values.contains(where: \.isForeground)
    case .never: false
    }
  }

  /// The scene that has the focus; the most recent one, if several report it.
  var active: SceneIdentifier? { latest(where: \.isActive) }

  /// The scene that can best show something.
  var frontmost: SceneIdentifier? { active ?? latest(where: \.isForeground) }

  private func latest(where holds: (Scene) -> Bool) -> SceneIdentifier? {
    scenes.filter { holds($0.value) }.max { $0.value.turn < $1.value.turn }?.key
  }
}

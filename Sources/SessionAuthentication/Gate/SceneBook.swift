/// The scenes of a program, and which of them are in front.
struct SceneBook {
  private struct Scene {
    var isActive = false
    var isForeground = false
    /// Larger for those that were active, or else connected, later.
    var turn: Int
  }

  private var scenes: [SceneIdentifier: Scene] = [:]
  private var lastTurn = 0
  /// A program that never had any has no front to leave.
  private var hasHadAny = false

  var all: [SceneIdentifier] { Array(scenes.keys) }

  func contains(_ scene: SceneIdentifier) -> Bool { scenes[scene] != nil }

  func isActive(_ scene: SceneIdentifier) -> Bool { scenes[scene]?.isActive ?? false }

  mutating func insert(_ scene: SceneIdentifier) {
    lastTurn += 1
    scenes[scene] = Scene(turn: lastTurn)
    hasHadAny = true
  }

  /// - Returns: Whether it was there.
  mutating func remove(_ scene: SceneIdentifier) -> Bool {
    scenes.removeValue(forKey: scene) != nil
  }

  /// - Returns: Whether the scene is there.
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

  /// The scene that has the focus; the one that had it last, if several say so.
  var active: SceneIdentifier? { latest(where: \.isActive) }

  /// The scene that can best show something.
  var frontmost: SceneIdentifier? { active ?? latest(where: \.isForeground) }

  private func latest(where holds: (Scene) -> Bool) -> SceneIdentifier? {
    scenes.filter { holds($0.value) }.max { $0.value.turn < $1.value.turn }?.key
  }
}

/// What goes into the gate's state machine, and what comes out of it.
extension GateMachine {
  package enum Event {
    case connect(SceneIdentifier, isActive: Bool)
    case disconnect(SceneIdentifier)
    case scene(SceneEvent, SceneIdentifier)
    case system(SystemEvent)
    /// A call waits for authentication, and perhaps requests it.
    case wait(Int, in: SceneIdentifier?, Request?)
    case stopWaiting(Int, AuthenticationError)
    case evaluationEnded(Int, Result<any AuthenticationToken, AuthenticationError>)
    case invalidate
    case configure(GateConfiguration)
    /// Time has passed.
    case tick
  }

  /// A request to ask the person, by a scene of the caller's choice or of the gate's.
  package struct Request {
    package let presenter: SceneIdentifier?

    package init(presenter: SceneIdentifier?) {
      self.presenter = presenter
    }
  }

  package enum Effect {
    case notify(SceneIdentifier, SceneDirective)
    case evaluate(Int, presenter: SceneIdentifier?)
    case cancelEvaluation(Int)
    /// Wipes the resources that are in memory only while the gate is open.
    case wipe
    case run(Int)
    case refuse(Int, AuthenticationError)
  }
}

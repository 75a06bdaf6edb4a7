import SealedStore
import SecurityKeys
import SessionToolsBase
import Synchronization

/// The security key that is plugged in, for one command: a person touches it once for each slot,
/// however often the command needs the slot's key.
final class PluggedInKey: KeySource, SlotMaker {
  private let key: SecurityKey
  private let question: PINQuestion
  /// The keys that it has made.
  private let made = Mutex<[KeySlot.Parameters: WrappingKey]>([:])

  /// - Parameters:
  ///   - prompt: Asks for the PIN.
  ///   - verification: What a new slot needs.
  ///   - label: The label of a new slot.
  init(
    _ prompt: PassphrasePrompt, verification: SecurityKey.Verification = .required,
    label: String = ""
  ) {
    let question = PINQuestion(prompt: prompt)
    self.question = question
    key = SecurityKey(label: label, verification: verification, pin: question.ask) {
      StandardError.say("Touch your security key")
    }
  }

  func wrappingKey(for slot: KeySlot.Parameters) throws(StoreError) -> WrappingKey? {
    if let key = made.withLock({ $0[slot] }) { return key }
    question.forgetRefusal()
    do throws(StoreError) {
      let key = try key.wrappingKey(for: slot)
      made.withLock { $0[slot] = key }
      return key
    } catch {
      throw question.refusal ?? error
    }
  }

  func checkCost(of slots: [KeySlot.Parameters]) throws(StoreError) {
    try key.checkCost(of: slots)
  }

  func makeSlot() throws(StoreError) -> (parameters: KeySlot.Parameters, key: WrappingKey) {
    StandardError.say("A new slot takes two touches")
    question.forgetRefusal()
    do throws(StoreError) {
      let (parameters, key) = try key.makeSlot()
      made.withLock { $0[parameters] = key }
      return (parameters, key)
    } catch {
      throw question.refusal ?? error
    }
  }

  /// Returns the slot that the key which is plugged in opens already, if only one is.
  ///
  /// - Throws: As `SecurityKey.connected()`.
  static func slot(among slots: [KeySlot]) throws(StoreError) -> KeySlot? {
    // With several, it is not known which of them is meant; making the slot reports them.
    guard try SecurityKey.connected().count == 1 else { return nil }
    for slot in slots {
      // A key that says nothing without its PIN may be a second one.
      if let parameters = slot.parameters, try SecurityKey.isMaker(of: parameters) {
        return slot
      }
    }
    return nil
  }
}

/// The question for a PIN at the terminal.
private final class PINQuestion: Sendable {
  private let prompt: PassphrasePrompt
  private let lastRefusal = Mutex<StoreError?>(nil)

  init(prompt: PassphrasePrompt) {
    self.prompt = prompt
  }

  /// Why there was no answer, if there was none.
  var refusal: StoreError? { lastRefusal.withLock { $0 } }

  func forgetRefusal() {
    lastRefusal.withLock { $0 = nil }
  }

  @Sendable func ask(_ question: SecurityKeyPINQuestion) -> SecretBytes? {
    do {
      return try prompt.askForPIN("\(question.text): ")
    } catch {
      // Any other failure is a line that is too long for a PIN.
      let refusal = error as? StoreError
      // The key's own error says more about a question that was dismissed.
      lastRefusal.withLock { $0 = refusal?.code == .promptDismissed ? nil : refusal }
      return nil
    }
  }
}

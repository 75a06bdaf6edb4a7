import Foundation
import SealedStore
import SecurityKeys
import SessionAuthentication
import SessionToolsBase
import Synchronization

// Uses security keys for tests, which have to preload a library:
//
//   SecurityKeyWorker STORE STEP...
//
// A step is a word, and an argument behind a colon. Its outcome is written on a line: "STEP: ok",
// or the code of an error and its reason; so is each question for a PIN and each touch. The store
// at STORE opens with the key file STORE.key as well. The steps:
//
//   list                 the keys that are plugged in
//   enroll:PIN           adds a slot, opening the store by the key file
//   enroll-touch:PIN     adds a slot that needs no PIN
//   open:PIN             opens the store
//   open-cancelled:PIN   opens the store, and is cancelled by a line of input
//   cancelled-at-WHEN:PIN  opens the store, and is cancelled: before, question, touch
//   connected            how many of the store's slots have their key plugged in
//   revoke:PIN           removes the slots of keys that are lost, and revokes what they may know
//   gate:PIN,PIN...      opens a gate twice, with these answers; an empty one dismisses it
//   gate-cancelled:PIN   opens a gate, and is cancelled by a line of input
//   gate-deaf            opens a gate, and is cancelled while its prompt does not notice it
//   gate-behind:PIN      does so while another gate waits for the key

let path = CommandLine.arguments[1]
let keyFile = KeyFile("\(path).key")

/// Writes a line without buffering, so that the reader knows what has happened so far.
func say(_ line: String) {
  FileHandle.standardOutput.write(Data("\(line)\n".utf8))
}

func securityKey(
  _ pin: String, _ verification: SecurityKey.Verification = .required, label: String = ""
) -> SecurityKey {
  SecurityKey(label: label, verification: verification, timeout: timeout) { question in
    say("PIN? label '\(question.label)', \(question.product), \(question.triesLeft) left")
    return pin.isEmpty ? nil : SecretBytes(utf8: pin)
  } onTouch: {
    say("touch")
  }
}

/// How long a key waits for a touch.
let timeout =
  ProcessInfo.processInfo.environment["TOUCH_TIMEOUT"].flatMap(Double.init).map {
    Duration.seconds($0)
  } ?? .seconds(30)

func openStore(_ key: some KeySource) throws {
  let store = try SealedFileStore.open(at: path, key: key)
  store.lock()
}

func enroll(_ key: SecurityKey) throws {
  let store = try SealedFileStore.open(at: path, key: keyFile)
  _ = try store.addSlot(key)
}

func list() throws {
  for device in try SecurityKey.connected() {
    say(
      "\(device.product): PIN \(device.hasPIN), reader \(device.verifiesItself), "
        + "secrets \(device.supportsSecrets)")
  }
}

func openCancelled(_ pin: String) throws {
  let key = securityKey(pin)
  Thread {
    _ = readLine()
    key.cancel()
  }.start()
  try openStore(key)
}

/// Opens the store with a key that is cancelled at a moment of its own.
func openCancelled(at moment: String, _ pin: String) throws {
  let cancelling = Mutex<SecurityKey?>(nil)
  let key = SecurityKey(timeout: timeout) { question in
    say("PIN? label '\(question.label)', \(question.product), \(question.triesLeft) left")
    guard moment == "question" else { return SecretBytes(utf8: pin) }
    cancelling.withLock { $0?.cancel() }
    return nil
  } onTouch: {
    if moment == "touch" { cancelling.withLock { $0?.cancel() } }
  }
  cancelling.withLock { $0 = key }
  if moment == "before" { key.cancel() }
  try openStore(key)
}

func revoke(_ pin: String) throws {
  let store = try SealedFileStore.open(at: path, key: keyFile)
  for slot in try store.keySlots() {
    guard let parameters = slot.parameters, case .namedKey = parameters,
      try !SecurityKey.isConnected(for: parameters)
    else { continue }
    try store.removeSlot(slot.number)
  }
  _ = try store.revoke(keeping: [keyFile, securityKey(pin)]) { plan in
    say("kept \(plan.kept.map(\.number)), dropped \(plan.dropped.map(\.number))")
    return true
  }
}

func perform(_ step: String, _ argument: String) async throws {
  switch step {
  case "list": try list()
  case "enroll": try enroll(securityKey(argument, label: "Ada's"))
  case "enroll-touch": try enroll(securityKey(argument, .touchOnly, label: "touched"))
  case "open": try openStore(securityKey(argument))
  case "open-cancelled": try openCancelled(argument)
  case "cancelled-at-before", "cancelled-at-question", "cancelled-at-touch":
    try openCancelled(at: String(step.dropFirst("cancelled-at-".count)), argument)
  case "connected":
    let slots = try SealedFileStore.keySlots(at: path).compactMap(\.parameters)
    say("\(try slots.filter { try SecurityKey.isConnected(for: $0) }.count)")
  case "revoke": try revoke(argument)
  case "gate":
    try await useGate(argument.split(separator: ",", omittingEmptySubsequences: false))
  case "gate-cancelled": try await cancelGate(asking: ScriptedPrompt([argument]))
  case "gate-deaf":
    let prompt = DeafPrompt()
    try await cancelGate(asking: prompt) { for await _ in prompt.questions.stream { break } }
  case "gate-behind": try await cancelGate(asking: ScriptedPrompt([argument]), behind: argument)
  default: preconditionFailure("there is no step \(step)")
  }
}

for argument in CommandLine.arguments.dropFirst(2) {
  let parts = argument.split(separator: ":", maxSplits: 1).map(String.init)
  let step = parts[0]
  do {
    try await perform(step, parts.count > 1 ? parts[1] : "")
    say("\(step): ok")
  } catch let error as StoreError {
    say("\(step): \(error.code): \(error.reason)")
  } catch let error as AuthenticationError {
    say("\(step): \(error.code): \(error.reason)")
  }
}

import Foundation
import SealedStore
import SessionToolsSecretService
import SessionToolsBase
import Synchronization

/// The sealed store that `secret-service` serves.
final class KeyringService: Sendable {
  /// How often a person may type a passphrase.
  private static let maximumAttemptCount = 3

  private let opener: StoreOpener
  private let log: AccessLog?
  /// What the open store was opened with: the agent's key, if it was that, and the directory.
  private let opened = Mutex<(agentKey: AgentKey?, directory: FileIdentity?)>((nil, nil))

  /// Serves a store, about which nothing is asked on the terminal.
  ///
  /// - Throws: As `AccessLog`.
  init(_ opener: StoreOpener) throws {
    var opener = opener
    // Clients get to know which one it is from wherever they are.
    opener.location = opener.location.absolute
    log = try AccessLog(of: "secret-service", store: opener.location)
    opener.interaction = .never
    self.opener = opener
  }

  var access: KeyringAccess {
    KeyringAccess(
      unlockCommand: "session-tools unlock \(opener.location.argument.shellQuoted)",
      open: { [self] () throws(StoreError) in try open() },
      isStillOpen: { [self] in isStillOpen }, forgetKey: { [self] in forgetKey() },
      question: { [self] in question(forProcess: $0) },
      noteRead: noteRead)
  }

  /// Records a read, if the settings ask for that.
  private var noteRead: (@Sendable (ItemName, Result<Bool, StoreError>, Int32) -> Void)? {
    guard let log else { return nil }
    return { name, outcome, process in
      switch outcome {
      case .success(let isThere):
        log.note(name, isThere ? .read : .absent, process: process)
      case .failure(let error): log.note(name, .failed(error), process: process)
      }
    }
  }

  private func open() throws(StoreError) -> any MigratableStore {
    do {
      let directory = self.directory
      let (open, key) = try opener.open(try opener.place())
      opened.withLock { $0 = (key as? AgentKey, directory) }
      return open.store
    } catch let error as StoreError where error.isWithoutStoreInDirectory {
      // It was there when the service started.
      throw error.advising("Put it back where it was, or mount it")
    } catch let error as StoreError {
      throw error
    } catch {
      throw StoreError(.unavailable, store: "\(opener.location)", reason: "\(error)")
    }
  }

  /// The directory that the store's path leads to now.
  private var directory: FileIdentity? {
    guard case .sealed(let path) = opener.location else { return nil }
    return try? FileIdentity(path: path)
  }

  /// Whether the open store is the one at its path, and a key that a person has unlocked is kept.
  ///
  /// A store that is open stays so without both: in a directory that was moved away for a backup
  /// to take its place, it would keep what no other program finds.
  private var isStillOpen: Bool {
    let (key, directory) = opened.withLock { $0 }
    // Where it is gone, the store is opened again, which reports that.
    guard directory == self.directory else { return false }
    guard let key else { return true }
    // Where the agent does not answer, the store is opened again, which reports that.
    return ((try? key.keptKey()) ?? nil) != nil
  }

  private func forgetKey() {
    guard case .sealed(let path) = opener.location else { return }
    do throws(StoreError) {
      _ = try KeyAgent().ask(.forget(SealedFileStore.storeIdentifier(at: path)))
    } catch {
      StandardError.complain("\(error)")
    }
  }

  /// Returns a question for the store's passphrase.
  private func question(forProcess process: Int32) -> KeyringAccess.Question? {
    guard case .sealed(let path) = opener.location,
      let slots = try? SealedFileStore.keySlots(at: path), slots.contains(where: \.isPassphrase),
      let pinentry = Pinentry(ofProcess: process)
    else { return nil }
    let isCancelled = Atomic(false)
    return KeyringAccess.Question(
      open: { [self] () throws(StoreError) in
        do {
          try unlock(path, by: pinentry) { isCancelled.load(ordering: .relaxed) }
        } catch let error as StoreError {
          // The client only gets to know that the question is over.
          if error.code != .promptDismissed { StandardError.complain("\(error)") }
          throw error
        } catch {
          throw StoreError(.promptDismissed, store: path, reason: "\(error)")
        }
        return try open()
      }, cancel: { isCancelled.store(true, ordering: .relaxed) })
  }

  /// Has the agent keep the key, as `unlock` does.
  private func unlock(
    _ path: String, by pinentry: Pinentry, isCancelled: @escaping @Sendable () -> Bool
  ) throws {
    var refusal: String?
    for _ in 0..<Self.maximumAttemptCount {
      let answer = pinentry.ask(
        "\(pinentry.client) asks for a secret in \(opener.location.argument).", error: refusal,
        isCancelled: isCancelled)
      if case .failed(let reason) = answer {
        throw StoreError(
          .unavailable, store: path, reason: "no passphrase could be asked for: \(reason)",
          remedy: "Run \(access.unlockCommand)")
      }
      guard case .passphrase(let passphrase) = answer else { break }
      switch Self.key(of: path, passphrase) {
      case .success(let found):
        return try AgentStart.keep(found.key, of: found.store, for: .standard)
      case .failure(let error):
        guard [.wrongKey, .invalidKey].contains(error.code) else { throw error }
        refusal = "The passphrase does not open the store. Try again."
      }
    }
    throw StoreError(.promptDismissed, store: path, reason: "the question was dismissed")
  }

  private static func key(
    of path: String, _ passphrase: SecretBytes
  ) -> Result<(store: StoreIdentifier, key: WrappingKey), StoreError> {
    do throws(StoreError) {
      return .success(
        try SealedFileStore.openingKey(at: path, from: try Passphrase(utf8: passphrase)))
    } catch {
      return .failure(error)
    }
  }
}

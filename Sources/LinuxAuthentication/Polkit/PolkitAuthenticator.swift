import SessionToolsDBus
import Foundation
public import SessionAuthentication

/// An authenticator that lets the system ask the person, with polkit.
///
/// The desktop shows the dialog, and the program never sees a password. The administrator decides
/// what the person is asked for: commonly the password of their account, or a finger. The dialog's
/// text is the policy file's, not the request's reason.
///
/// It is a presence check: the answer is yes or no.
///
/// > Warning: The person is not asked if the system's rules allow the action without a question.
/// > That is always the case for root.
public struct PolkitAuthenticator: UserAuthenticator {
  /// How long polkit may take for an answer that does not involve the person.
  private static let serviceTimeout = Duration.seconds(25)
  /// How long withdrawing a question may take.
  private static let cancelTimeout = Duration.seconds(3)

  private let action: String
  private let fixedAddress: String?

  /// Makes an authenticator for an action.
  ///
  /// - Parameters:
  ///   - action: The identifier of an action, such as `com.example.mail.unlock`, whose policy file
  ///     the administrator has installed; ``PolkitAuthenticator/Policy`` gives its content.
  ///   - busAddress: The message bus with polkit; when `nil`, the system's, which
  ///     `DBUS_SYSTEM_BUS_ADDRESS` can set.
  public init(action: String, busAddress: String? = nil) {
    self.action = action
    fixedAddress = busAddress
  }

  /// The method `system`.
  public var method: AuthenticationMethod { .system }

  /// Checks that polkit knows the action, and could ask.
  ///
  /// Takes as long as polkit does, at most 25 s. Only an evaluation reveals whether there is an
  /// agent to show the question.
  ///
  /// - Throws: `misconfigured` when there is no polkit, or no policy file for the action,
  ///   `notPermitted` when the rules refuse without asking, `serviceLost` or `timedOut`.
  public func checkAvailability() async throws(AuthenticationError) {
    let deadline = Deadline(in: Self.serviceTimeout)
    let authority = try await authority(until: deadline)
    defer { authority.connection.close() }
    let answer = try await check(authority, cancellation: nil, until: deadline)
    guard answer.isAuthorized || answer.isChallenge else { throw PolkitFailure.notPermitted }
  }

  /// Lets the system ask the person.
  ///
  /// When cancelled or out of time, it withdraws the question from the screen before it returns; if
  /// polkit no longer answers, that takes up to 3 s.
  ///
  /// - Returns: `system`.
  /// - Throws: `failed`, also when the agent ended meanwhile; `userCancel`; `appCancel`,
  ///   `timedOut`; `notInteractive` when there is no agent to ask; `misconfigured` when there is no
  ///   polkit, or no policy file for the action; `notPermitted`; `serviceLost`.
  public func evaluate(
    _ request: AuthenticationRequest
  ) async throws(AuthenticationError) -> AuthenticationMethod {
    let deadline = Deadline(in: request.timeout)
    let authority = try await authority(until: deadline)
    defer { authority.connection.close() }
    // The identifier is scoped to this connection, so any text is unique enough.
    let cancellation = UUID().uuidString
    let answer: PolkitAuthority.Answer
    do throws(AuthenticationError) {
      answer = try await check(authority, cancellation: cancellation, until: deadline)
    } catch {
      if [AuthenticationError.appCancel, AuthenticationError.timedOut].contains(error.code) {
        // polkit would continue to ask. This is not cancelled with the caller.
        await Task.detached {
          await authority.cancel(cancellation, until: Deadline(in: Self.cancelTimeout))
        }.value
      }
      throw error
    }
    if answer.isAuthorized { return method }
    if answer.isDismissed {
      throw AuthenticationError(.userCancel, "the person cancelled")
    }
    if answer.isChallenge {
      throw AuthenticationError(
        .notInteractive, "there is no polkit agent to ask the person",
        remedy: "Start an agent: the desktop's, or pkttyagent in a terminal")
    }
    // The answer is the same if a rule refused without a question.
    let unasked = try await check(authority, cancellation: nil, until: deadline)
    guard unasked.isAuthorized || unasked.isChallenge else { throw PolkitFailure.notPermitted }
    throw AuthenticationError(
      .failed, "the system did not authenticate the person")
  }

  private func authority(
    until deadline: Deadline
  ) async throws(AuthenticationError) -> PolkitAuthority {
    guard !action.isEmpty, action.utf8.allSatisfy(Self.isAllowed) else {
      throw PolkitFailure.notAnAction(action)
    }
    do throws(DBusError) {
      return try await PolkitAuthority(
        at: fixedAddress ?? BusAddress.system, for: action, until: deadline)
    } catch {
      throw PolkitFailure.error(error, isReached: false)
    }
  }

  private static func isAllowed(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."):
      true
    default: false
    }
  }

  private func check(
    _ authority: PolkitAuthority, cancellation: String?, until deadline: Deadline
  ) async throws(AuthenticationError) -> PolkitAuthority.Answer {
    let failure: DBusError
    do throws(DBusError) {
      return try await authority.check(cancellation: cancellation, until: deadline)
    } catch {
      failure = error
    }
    // polkit reports an unknown action with an error that it also uses for everything else.
    if failure.name == "org.freedesktop.PolicyKit1.Error.Failed",
      (try? await authority.isRegistered(until: deadline)) == false
    {
      throw PolkitFailure.notRegistered(action)
    }
    throw PolkitFailure.error(failure, isReached: true)
  }
}

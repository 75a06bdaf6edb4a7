import DBus
import Foundation
public import SessionAuthentication

/// Lets the system ask the person, by polkit: the desktop draws the dialog, and the program never
/// sees a password.
///
/// What the person is asked for, the administrator decides: commonly the password of their account,
/// or a finger. The dialog's text is that of the action's policy file, not the request's reason.
///
/// It is a presence check: the answer is yes or no.
///
/// > Warning: Whom the system's rules let do the action without a question is not asked. That is
/// > always so for root.
public struct PolkitAuthenticator: Authenticator {
  /// How long polkit may take to say something that it asks nobody about.
  private static let serviceTimeout = Duration.seconds(25)
  /// How long taking a question back may take.
  private static let cancelTimeout = Duration.seconds(3)

  private let action: String
  private let fixedAddress: String?

  /// Lets the system ask.
  ///
  /// - Parameters:
  ///   - action: The identifier of an action, such as `com.example.mail.unlock`, whose policy file
  ///     the administrator has installed; ``PolkitPolicy`` gives its content.
  ///   - busAddress: The message bus on which polkit is; the system's when `nil`, which is what
  ///     `DBUS_SYSTEM_BUS_ADDRESS` says.
  public init(action: String, busAddress: String? = nil) {
    self.action = action
    fixedAddress = busAddress
  }

  /// `system`.
  public var method: AuthenticationMethod { .system }

  /// Whether polkit knows the action, and could ask.
  ///
  /// Takes as long as polkit does, at most 25 s. Whether there is an agent that shows the question,
  /// only asking shows.
  ///
  /// - Returns: `misconfigured` when there is no polkit, or no policy file for the action,
  ///   `notPermitted` when the rules say no without asking, `serviceLost` or `timedOut`, if it is
  ///   not available.
  public func availability() async -> AuthenticatorAvailability {
    let deadline = Deadline(in: Self.serviceTimeout)
    do throws(AuthenticationError) {
      let authority = try await authority(until: deadline)
      defer { authority.connection.close() }
      let answer = try await check(authority, cancellation: nil, until: deadline)
      return answer.isAuthorized || answer.isChallenge
        ? .available : .unavailable(PolkitFailure.notPermitted)
    } catch {
      return .unavailable(error)
    }
  }

  /// Lets the system ask the person.
  ///
  /// Cancelled, or out of time, it takes the question off the screen before it returns; when polkit
  /// does not answer any more, that takes up to 3 s.
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
    // Of this connection alone, so any text does.
    let cancellation = UUID().uuidString
    let answer: PolkitAuthority.Answer
    do throws(AuthenticationError) {
      answer = try await check(authority, cancellation: cancellation, until: deadline)
    } catch {
      if [AuthenticationError.appCancel, AuthenticationError.timedOut].contains(error.code) {
        // polkit would go on asking. Not cancelled with the one who waited.
        await Task.detached {
          await authority.cancel(cancellation, until: Deadline(in: Self.cancelTimeout))
        }.value
      }
      throw error
    }
    if answer.isAuthorized { return method }
    if answer.isDismissed {
      throw AuthenticationError(AuthenticationError.userCancel, "the person cancelled")
    }
    if answer.isChallenge {
      throw AuthenticationError(
        AuthenticationError.notInteractive, "there is no agent of polkit's that could ask",
        remedy: "Start one, such as a desktop has, or pkttyagent in a terminal")
    }
    // It says the same when nobody was asked because a rule says no.
    let unasked = try await check(authority, cancellation: nil, until: deadline)
    guard unasked.isAuthorized || unasked.isChallenge else { throw PolkitFailure.notPermitted }
    throw AuthenticationError(
      AuthenticationError.failed, "the system did not accept the person")
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
    // The error that an action is unknown is one of those that polkit has for everything else.
    if failure.name == "org.freedesktop.PolicyKit1.Error.Failed",
      (try? await authority.isRegistered(until: deadline)) == false
    {
      throw PolkitFailure.notRegistered(action)
    }
    throw PolkitFailure.error(failure, isReached: true)
  }
}

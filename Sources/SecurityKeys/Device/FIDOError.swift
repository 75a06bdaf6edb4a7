import CSessionToolsFIDO2

/// An error of libfido2: a status of the key (CTAP 2.1, 8.2), or a negative number of its own.
///
/// Its names differ from those of other errors' codes, which match any error in a pattern.
package struct FIDOError: Error, Hashable {
  package let code: Int32

  /// Throws the error that a function of libfido2 returned, unless it is 0.
  static func check(_ code: Int32) throws(FIDOError) {
    guard code == FIDO_OK else { throw FIDOError(code: code) }
  }

  /// libfido2's name of the error, such as "FIDO_ERR_RX".
  var name: String { unsafe fido_strerr(code).map { unsafe String(cString: $0) } ?? "\(code)" }

  package static let operationDenied = FIDOError(code: FIDO_ERR_OPERATION_DENIED)
  package static let stopRequested = FIDOError(code: FIDO_ERR_KEEPALIVE_CANCEL)
  package static let noCredentials = FIDOError(code: FIDO_ERR_NO_CREDENTIALS)
  package static let personTooSlow = FIDOError(code: FIDO_ERR_USER_ACTION_TIMEOUT)
  package static let actionTooSlow = FIDOError(code: FIDO_ERR_ACTION_TIMEOUT)
  package static let wrongPIN = FIDOError(code: FIDO_ERR_PIN_INVALID)
  package static let pinProofRefused = FIDOError(code: FIDO_ERR_PIN_AUTH_INVALID)
  package static let pinBlocked = FIDOError(code: FIDO_ERR_PIN_BLOCKED)
  package static let pinBlockedUntilPluggedIn = FIDOError(code: FIDO_ERR_PIN_AUTH_BLOCKED)
  package static let pinNotSet = FIDOError(code: FIDO_ERR_PIN_NOT_SET)
  package static let pinBreaksRules = FIDOError(code: FIDO_ERR_PIN_POLICY_VIOLATION)
  package static let pinRequired = FIDOError(code: FIDO_ERR_PIN_REQUIRED)
  package static let unauthorized = FIDOError(code: FIDO_ERR_UNAUTHORIZED_PERM)
  package static let wrongFinger = FIDOError(code: FIDO_ERR_UV_INVALID)
  package static let readerBlocked = FIDOError(code: FIDO_ERR_UV_BLOCKED)
  package static let notReceived = FIDOError(code: FIDO_ERR_RX)
  package static let internalFailure = FIDOError(code: FIDO_ERR_INTERNAL)
}

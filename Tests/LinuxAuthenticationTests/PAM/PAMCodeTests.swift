import LinuxAuthentication
import SessionAuthentication
import SessionToolsTestSupport
import Testing

/// The errors for libpam's return codes.
@Suite struct PAMCodeTests {
  let services: PAMServices

  init() throws {
    services = try PAMServices()
  }

  /// The names that pam_debug has for the codes from 1 to 31, and their errors.
  static let codes: [(name: String, code: AuthenticationError.Code)] = [
    ("open_err", AuthenticationError.misconfigured),
    ("symbol_err", AuthenticationError.misconfigured),
    ("service_err", AuthenticationError.misconfigured),
    ("system_err", AuthenticationError.serviceLost),
    ("buf_err", AuthenticationError.serviceLost),
    ("perm_denied", AuthenticationError.notPermitted),
    ("auth_err", AuthenticationError.failed),
    ("cred_insufficient", AuthenticationError.notPermitted),
    ("authinfo_unavail", AuthenticationError.notPermitted),
    ("user_unknown", AuthenticationError.failed),
    ("maxtries", AuthenticationError.lockout),
    ("new_authtok_reqd", AuthenticationError.accountUnusable),
    ("acct_expired", AuthenticationError.accountUnusable),
    ("session_err", AuthenticationError.failed),
    ("cred_unavail", AuthenticationError.failed),
    ("cred_expired", AuthenticationError.failed),
    ("cred_err", AuthenticationError.failed),
    ("no_module_data", AuthenticationError.failed),
    ("conv_err", AuthenticationError.failed),
    ("authtok_err", AuthenticationError.failed),
    ("authtok_recover_err", AuthenticationError.failed),
    ("authtok_lock_busy", AuthenticationError.serviceLost),
    ("authtok_disable_aging", AuthenticationError.failed),
    ("try_again", AuthenticationError.serviceLost),
    ("abort", AuthenticationError.misconfigured),
    ("authtok_expired", AuthenticationError.accountUnusable),
    ("module_unknown", AuthenticationError.misconfigured),
    ("bad_item", AuthenticationError.failed),
    ("conv_again", AuthenticationError.failed),
    ("incomplete", AuthenticationError.failed),
  ]

  @Test(arguments: codes)
  func `each code of an authentication has its error`(
    name: String, code: AuthenticationError.Code
  ) async throws {
    try services.add(
      name, "auth required pam_debug.so auth=\(name)", "account required pam_permit.so")
    let outcome = await Evaluation.of(services.authenticator(name, ScriptedPrompt()))
    #expect(outcome.code == code)
  }

  @Test(arguments: codes)
  func `each code of an account has its error, and none says that the password was wrong`(
    name: String, code: AuthenticationError.Code
  ) async throws {
    try services.add(
      name, "auth required pam_permit.so", "account required pam_debug.so acct=\(name)")
    let outcome = await Evaluation.of(services.authenticator(name, ScriptedPrompt()))
    let isAboutThePerson = ["auth_err", "user_unknown"].contains(name)
    #expect(outcome.code == (isAboutThePerson ? AuthenticationError.accountUnusable : code))
  }

  @Test func `a service whose modules all abstain is not permitted`() async throws {
    try services.add(
      "abstaining", "auth required pam_debug.so auth=ignore", "account required pam_permit.so")
    let outcome = await Evaluation.of(services.authenticator("abstaining", ScriptedPrompt()))
    // libpam itself returns "permission denied".
    #expect(outcome.code == .notPermitted)
  }

  @Test func `a missing module is misconfigured, and not a wrong password`() async throws {
    try services.add(
      "missing", "auth required /nonexistent/pam_none.so", "account required pam_permit.so")
    let outcome = await Evaluation.of(services.authenticator("missing", ScriptedPrompt()))
    #expect(outcome.code == .misconfigured)
  }
}

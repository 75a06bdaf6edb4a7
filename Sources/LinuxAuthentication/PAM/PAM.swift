import CSessionToolsPAM
import Glibc
import SessionToolsBase

/// A message of a PAM module to the person.
enum PAMMessage {
  /// A question that needs an answer; a secret must not be shown while it is typed.
  case question(String, isSecret: Bool)
  case information(String)
  case problem(String)
}

/// An error of libpam.
struct PAMFailure: Error {
  let status: PAMStatus
  /// libpam's text.
  let text: String
}

/// A return code of libpam.
struct PAMStatus: RawRepresentable, Hashable {
  let rawValue: Int32

  static let openError = PAMStatus(rawValue: PAM_OPEN_ERR)
  static let symbolError = PAMStatus(rawValue: PAM_SYMBOL_ERR)
  static let serviceError = PAMStatus(rawValue: PAM_SERVICE_ERR)
  static let systemError = PAMStatus(rawValue: PAM_SYSTEM_ERR)
  static let bufferError = PAMStatus(rawValue: PAM_BUF_ERR)
  static let permissionDenied = PAMStatus(rawValue: PAM_PERM_DENIED)
  static let authenticationError = PAMStatus(rawValue: PAM_AUTH_ERR)
  static let insufficientCredentials = PAMStatus(rawValue: PAM_CRED_INSUFFICIENT)
  static let informationUnavailable = PAMStatus(rawValue: PAM_AUTHINFO_UNAVAIL)
  static let userUnknown = PAMStatus(rawValue: PAM_USER_UNKNOWN)
  static let maximumTries = PAMStatus(rawValue: PAM_MAXTRIES)
  static let newTokenRequired = PAMStatus(rawValue: PAM_NEW_AUTHTOK_REQD)
  static let accountExpired = PAMStatus(rawValue: PAM_ACCT_EXPIRED)
  static let lockBusy = PAMStatus(rawValue: PAM_AUTHTOK_LOCK_BUSY)
  static let tryAgain = PAMStatus(rawValue: PAM_TRY_AGAIN)
  static let ignore = PAMStatus(rawValue: PAM_IGNORE)
  static let abort = PAMStatus(rawValue: PAM_ABORT)
  static let tokenExpired = PAMStatus(rawValue: PAM_AUTHTOK_EXPIRED)
  static let moduleUnknown = PAMStatus(rawValue: PAM_MODULE_UNKNOWN)
}

/// A transaction with libpam; it blocks its thread, and only one thread may use it.
@safe struct PAMTransaction: ~Copyable {
  /// The most bytes that a module accepts as an answer: `PAM_MAX_RESP_SIZE` less its NUL.
  static let maximumAnswerByteCount = Int(PAM_MAX_RESP_SIZE) - 1

  /// Returns whether an answer can be passed on whole.
  ///
  /// A NUL would end it, and the part before it might be right.
  static func takes(_ answer: SecretBytes) -> Bool {
    guard answer.byteCount <= maximumAnswerByteCount else { return false }
    return answer.withBytes { bytes in
      unsafe bytes.withUnsafeBytes { unsafe !$0.contains(0) }
    }
  }

  private let handle: OpaquePointer
  private let conversation: Conversation
  private var status = PAM_SUCCESS

  /// Begins a transaction.
  ///
  /// - Parameters:
  ///   - service: The name of a service.
  ///   - user: The user to authenticate.
  ///   - directory: The directory of the service's file; `nil` for the system's.
  ///   - answer: Called with the messages of modules. Returns the answer to a question, which
  ///     `takes` must accept; `nil` gives up.
  /// - Throws: libpam's error, also when there is no such service in the directory.
  init(
    service: String, user: String, directory: String?,
    answer: @escaping (PAMMessage) -> SecretBytes?
  ) throws(PAMFailure) {
    conversation = Conversation(answer)
    // libpam copies this struct. The conversation object is kept as long as the transaction.
    var conversation = unsafe pam_conv(
      conv: converse, appdata_ptr: Unmanaged.passUnretained(conversation).toOpaque())
    var handle: OpaquePointer?
    let status =
      if let directory {
        unsafe pam_start_confdir(service, user, &conversation, directory, &handle)
      } else {
        unsafe pam_start(service, user, &conversation, &handle)
      }
    guard status == PAM_SUCCESS, let handle = unsafe handle else {
      throw PAMFailure(
        status: PAMStatus(rawValue: status), text: unsafe Self.text(of: status, in: nil))
    }
    unsafe self.handle = unsafe handle
  }

  deinit {
    // Modules that defer work to the end receive the final status.
    unsafe pam_end(handle, status)
  }

  /// Authenticates the user.
  ///
  /// - Throws: libpam's error.
  mutating func authenticate() throws(PAMFailure) {
    status = unsafe pam_authenticate(handle, 0)
    try check()
  }

  /// Checks whether the user's account may be used.
  ///
  /// - Throws: libpam's error.
  mutating func checkAccount() throws(PAMFailure) {
    status = unsafe pam_acct_mgmt(handle, 0)
    try check()
  }

  /// The user of the transaction; a module may change it.
  var user: String? {
    var item: UnsafeRawPointer?
    guard unsafe pam_get_item(handle, PAM_USER, &item) == PAM_SUCCESS, let item = unsafe item
    else { return nil }
    return unsafe String(cString: item.assumingMemoryBound(to: CChar.self))
  }

  private func check() throws(PAMFailure) {
    guard status == PAM_SUCCESS else {
      throw unsafe PAMFailure(
        status: PAMStatus(rawValue: status), text: Self.text(of: status, in: handle))
    }
  }

  private static func text(of status: Int32, in handle: OpaquePointer?) -> String {
    unsafe pam_strerror(handle, status).map { unsafe String(cString: $0) } ?? "error \(status)"
  }
}

/// Returns a text of Linux-PAM's modules, or of another module, in the program's language, with its
/// placeholders.
func pamText(_ text: String, of module: String = "Linux-PAM") -> String {
  // dgettext returns an untranslated text itself, so it must last until it is copied.
  unsafe text.withCString { text in
    unsafe dgettext(module, text).map { unsafe String(cString: $0) }
  } ?? text
}

/// Returns a text of Linux-PAM's modules about a number of things, like `pamText(_:of:)`.
func pamText(_ singular: String, _ plural: String, count: UInt) -> String {
  unsafe singular.withCString { singular in
    unsafe plural.withCString { plural in
      unsafe dngettext("Linux-PAM", singular, plural, count).map { unsafe String(cString: $0) }
    }
  } ?? plural
}

/// The object that answers during a transaction.
private final class Conversation {
  let answer: (PAMMessage) -> SecretBytes?

  init(_ answer: @escaping (PAMMessage) -> SecretBytes?) {
    self.answer = answer
  }
}

/// The function that libpam calls with its modules' messages.
private let converse:
  @convention(c) (
    Int32, UnsafeMutablePointer<UnsafePointer<pam_message>?>?,
    UnsafeMutablePointer<UnsafeMutablePointer<pam_response>?>?, UnsafeMutableRawPointer?
  ) -> Int32 = { count, messages, result, data in
    guard (1...PAM_MAX_NUM_MSG).contains(count), let messages = unsafe messages,
      let result = unsafe result, let data = unsafe data
    else { return PAM_CONV_ERR }
    let conversation = unsafe Unmanaged<Conversation>.fromOpaque(data).takeUnretainedValue()
    guard let replies = Replies(count: Int(count)) else { return PAM_BUF_ERR }
    for position in 0..<Int(count) {
      guard let message = unsafe messages[position] else { return PAM_CONV_ERR }
      let text = unsafe message.pointee.msg.map { unsafe String(cString: $0) } ?? ""
      switch unsafe message.pointee.msg_style {
      case PAM_PROMPT_ECHO_OFF, PAM_PROMPT_ECHO_ON:
        let isSecret = unsafe message.pointee.msg_style == PAM_PROMPT_ECHO_OFF
        guard let answer = conversation.answer(.question(text, isSecret: isSecret)) else {
          return PAM_CONV_ERR
        }
        guard replies.set(position, answer) else { return PAM_BUF_ERR }
      case PAM_ERROR_MSG: _ = conversation.answer(.problem(text))
      case PAM_TEXT_INFO: _ = conversation.answer(.information(text))
      // Other styles are only for programs that a module was written for.
      default: return PAM_CONV_ERR
      }
    }
    unsafe result.pointee = unsafe replies.release()
    return PAM_SUCCESS
  }

/// Answers in memory that libpam may free; wiped and freed here unless libpam takes them.
@safe private final class Replies {
  private let count: Int
  private var replies: UnsafeMutablePointer<pam_response>?

  init?(count: Int) {
    guard let memory = unsafe calloc(count, MemoryLayout<pam_response>.stride) else { return nil }
    self.count = count
    unsafe replies = unsafe memory.bindMemory(to: pam_response.self, capacity: count)
  }

  /// Copies an answer.
  ///
  /// - Returns: Whether there was enough memory.
  func set(_ position: Int, _ answer: SecretBytes) -> Bool {
    let byteCount = answer.byteCount
    guard let replies = unsafe replies, let copy = unsafe calloc(byteCount + 1, 1) else {
      return false
    }
    answer.withBytes { bytes in
      unsafe bytes.withUnsafeBytes { bytes in
        guard let start = bytes.baseAddress else { return }
        unsafe _ = memcpy(copy, start, byteCount)
      }
    }
    unsafe replies[position].resp = unsafe copy.bindMemory(
      to: CChar.self, capacity: byteCount + 1)
    return true
  }

  /// Transfers ownership of the answers.
  func release() -> UnsafeMutablePointer<pam_response>? {
    unsafe replies.take()
  }

  deinit {
    guard let replies = unsafe replies else { return }
    for position in 0..<count {
      guard let answer = unsafe replies[position].resp else { continue }
      unsafe explicit_bzero(answer, strlen(answer))
      unsafe free(answer)
    }
    unsafe free(replies)
  }
}

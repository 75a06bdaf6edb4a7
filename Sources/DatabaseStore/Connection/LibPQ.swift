import CSessionToolsPQ
import Glibc
import SecretStores

/// libpq's functions that need no connection.
enum LibPQ {
  /// Makes sure that OpenSSL stays usable until the process has ended.
  ///
  /// Otherwise `exit` takes OpenSSL apart while the threads of this library still use connections,
  /// and a program that had done all its work would crash. It has no effect in a program that has
  /// used OpenSSL before, and none on other builds of libpq.
  static let keepsTLSUntilTheEnd: Void = {
    // In openssl/crypto.h, since OpenSSL 1.1.1b.
    let withoutExitHandler: UInt64 = 0x0008_0000
    typealias Initialize = @convention(c) (UInt64, OpaquePointer?) -> Int32
    // libpq has loaded it, if it uses it, and may itself be loaded for one program alone.
    let libpq = unsafe dlopen("libpq.so.5", RTLD_LAZY | RTLD_NOLOAD)
    guard let symbol = unsafe dlsym(libpq, "OPENSSL_init_crypto") else { return }
    _ = unsafe unsafeBitCast(symbol, to: Initialize.self)(withoutExitHandler, nil)
  }()

  /// The version of the library that is there, such as 150018.
  static var version: Int32 { PQlibVersion() }

  /// Returns the keywords and values of a connection string; `nil` when it cannot be parsed.
  static func parse(connectionString text: String) -> [String: String]? {
    guard !text.utf8.contains(0) else { return nil }
    guard let options = unsafe PQconninfoParse(text, nil) else { return nil }
    defer { unsafe PQconninfoFree(options) }
    var given: [String: String] = [:]
    var option = unsafe options
    while let keyword = unsafe option.pointee.keyword {
      if let value = unsafe option.pointee.val {
        unsafe given[String(cString: keyword)] = unsafe String(cString: value)
      }
      unsafe option += 1
    }
    return given
  }
}

/// A connection of libpq, whose calls here never wait for the server.
///
/// It is used by one thread at a time.
@safe final class LibPQConnection {
  /// What has to happen on the socket before a call is repeated.
  enum Progress {
    case done
    case needsInput
    case needsOutput
    case failed
  }

  /// What a server may send until a connection is open.
  private static let connectingByteCount = 1 << 20

  private let pointer: OpaquePointer
  /// What is between libpq and the server, once they are connected.
  private(set) var wire: ServerWire?
  private let notices = NoticeList()
  private let process = CurrentProcess.identifier

  /// Begins to connect; `nil` when there is no memory.
  ///
  /// - Parameters:
  ///   - keywords: libpq's keywords and their values.
  ///   - password: The password with a zero behind it, in memory that is wiped. libpq makes copies,
  ///     which it keeps for as long as there is a connection, and does not wipe all of them.
  init?(_ keywords: [String: String], password: ByteBuffer?) {
    var (names, values) = unsafe ([UnsafePointer<CChar>?](), [UnsafePointer<CChar>?]())
    var copies = unsafe [UnsafeMutablePointer<CChar>?]()
    for (name, value) in keywords {
      unsafe copies += [strdup(name), strdup(value)]
      unsafe names.append(UnsafePointer(copies[copies.count - 2]))
      unsafe values.append(UnsafePointer(copies[copies.count - 1]))
    }
    defer { unsafe copies.forEach { unsafe free($0) } }
    LibPQ.keepsTLSUntilTheEnd
    if let password {
      unsafe copies.append(strdup("password"))
      unsafe names.append(UnsafePointer(copies[copies.count - 1]))
      let start = unsafe password.pointer(to: 0..<password.byteCount)
      unsafe values.append(start.assumingMemoryBound(to: CChar.self))
    }
    unsafe names.append(nil)
    unsafe values.append(nil)
    guard let pointer = unsafe PQconnectStartParams(names, values, 0) else { return nil }
    unsafe self.pointer = pointer
    withExtendedLifetime(password) {}
    // Of a server's errors only the code is used: texts may quote what was stored.
    unsafe PQsetErrorVerbosity(pointer, PQERRORS_SQLSTATE)
    unsafe PQsetNoticeReceiver(
      pointer, receiveNotice, Unmanaged.passUnretained(notices).toOpaque())
  }

  deinit {
    // In a forked child the socket is also the parent's, whose connection a farewell would end. The
    // child's memory is gone when the child ends.
    guard process == CurrentProcess.identifier else {
      close(descriptor)
      return
    }
    unsafe PQfinish(pointer)
    _ = wire?.send()
  }

  /// Makes sure that nothing is sent any more, not even what libpq still holds.
  func abandon() {
    guard process == CurrentProcess.identifier, descriptor >= 0 else { return }
    wire?.abandon()
    shutdown(descriptor, Int32(SHUT_RDWR))
  }

  // MARK: - State

  private var descriptor: Int32 { unsafe PQsocket(pointer) }
  /// Whether there is no connection, and will be none.
  var isFailed: Bool { unsafe PQstatus(pointer) == CONNECTION_BAD }
  var isOpen: Bool { unsafe PQstatus(pointer) == CONNECTION_OK }
  /// Whether TLS is being agreed on.
  var isStartingTLS: Bool { unsafe PQstatus(pointer) == CONNECTION_SSL_STARTUP }
  /// Whether the server has not let the client in.
  var isLoggingIn: Bool { unsafe PQstatus(pointer) == CONNECTION_AWAITING_RESPONSE }
  var usesTLS: Bool { unsafe PQsslInUse(pointer) == 1 }
  /// Whether no transaction is under way and no answer is awaited.
  var isIdle: Bool { unsafe PQtransactionStatus(pointer) == PQTRANS_IDLE }
  /// The number of the process that serves this connection.
  var serverProcess: Int32 { unsafe PQbackendPID(pointer) }

  /// libpq's text for what failed while it connected, in one line, without its advice.
  var message: String {
    let text = unsafe PQerrorMessage(pointer).map { unsafe String(cString: $0) } ?? ""
    return text.split(separator: "\n")
      .filter { !$0.hasPrefix("\t") && !$0.hasPrefix("Either ") }.joined(separator: "; ")
  }

  /// Goes on with connecting.
  func proceed() -> Progress {
    switch unsafe PQconnectPoll(pointer) {
    case PGRES_POLLING_OK:
      // Otherwise sending could block.
      unsafe PQsetnonblocking(pointer, 1) == 0 ? .done : .failed
    case PGRES_POLLING_READING: .needsInput
    case PGRES_POLLING_WRITING: .needsOutput
    default: .failed
    }
  }

  /// Whether the server asked for a password, and there was none.
  var lacksPassword: Bool { unsafe PQconnectionNeedsPassword(pointer) == 1 }
  /// Whether the server asked for a password.
  var usesPassword: Bool { unsafe PQconnectionUsedPassword(pointer) == 1 }

  // MARK: - Sending

  /// Sends a statement under a name, to be executed later.
  func prepare(
    _ name: String, _ text: String, _ kinds: [StatementParameters.Kind]
  ) -> Bool {
    unsafe PQsendPrepare(pointer, name, text, Int32(kinds.count), kinds.map(\.rawValue)) == 1
  }

  /// Sends the parameters for a prepared statement.
  func execute(_ name: String, _ parameters: StatementParameters) -> Bool {
    unsafe parameters.withPointers { values, lengths, formats in
      unsafe PQsendQueryPrepared(
        pointer, name, Int32(values.count), values, lengths, formats, 1) == 1
    }
  }

  /// Sends a statement with its parameters.
  func execute(text: String, _ parameters: StatementParameters) -> Bool {
    let kinds = parameters.kinds.map(\.rawValue)
    return unsafe parameters.withPointers { values, lengths, formats in
      unsafe PQsendQueryParams(
        pointer, text, Int32(values.count), kinds, values, lengths, formats, 1) == 1
    }
  }

  /// Sends several statements without parameters.
  func execute(script: String) -> Bool { unsafe PQsendQuery(pointer, script) == 1 }

  /// Passes what is to be sent to the kernel.
  func flush() -> Progress {
    let status = unsafe PQflush(pointer)
    guard status >= 0 else { return .failed }
    let isAllSent = wire?.send() ?? true
    return status == 0 && isAllSent ? .done : .needsOutput
  }

  // MARK: - Waiting

  /// Waits until libpq can go on with connecting.
  ///
  /// - Throws: `notSent` when this process may open no more descriptors.
  func waitToProceed(
    _ progress: Progress, until deadline: ContinuousClock.Instant
  ) throws(DatabaseFailure) -> ServerWire.Outcome {
    let events = Int32(progress == .needsInput ? POLLIN : POLLOUT)
    try putWire()
    guard let wire else {
      let outcome = SocketWait.wait(for: descriptor, events, until: deadline)
      try putWire()
      return outcome == .ready ? .ready : .deadline
    }
    if progress == .needsInput { wire.expect(replyToTLS: isStartingTLS) }
    return wire.wait(events, until: deadline)
  }

  /// Comes between libpq and the server, and does it again when libpq has begun again.
  private func putWire() throws(DatabaseFailure) {
    guard descriptor >= 0, wire?.isBehind(descriptor) != true else { return }
    wire = try ServerWire.between(descriptor)
    wire?.begin(allowing: Self.connectingByteCount)
  }

  /// Begins an operation for which the server may send a number of bytes.
  func begin(allowing byteCount: Int) { wire?.begin(allowing: byteCount) }

  /// The number of bytes that the server has sent in this operation.
  var receivedByteCount: Int { wire?.receivedByteCount ?? 0 }

  /// Waits until libpq can go on.
  func wait(
    _ events: Int32, or waker: Int32 = -1, until deadline: ContinuousClock.Instant
  ) -> ServerWire.Outcome {
    wire?.wait(events, or: waker, until: deadline) ?? .ready
  }

  /// Whether something has arrived, or the server has closed the connection.
  var hasInput: Bool { wire?.hasInput ?? true }
  /// Whether the server sends nothing any more.
  var isEnding: Bool { wire?.isEnding ?? true }

  // MARK: - Receiving

  /// Takes a piece of what has arrived, without waiting; returns whether the connection still
  /// works.
  func receiveArrived() -> Bool {
    guard let wire else { return false }
    if !wire.hasPassedInput, wire.receive() != .ready { return false }
    return receive()
  }

  /// Takes what has been passed on; returns whether the connection still works.
  func receive() -> Bool { unsafe PQconsumeInput(pointer) == 1 }

  /// Whether the next answer has not arrived completely.
  var awaitsAnswer: Bool { unsafe PQisBusy(pointer) == 1 }

  /// Returns the next answer to a statement; `nil` when the server is done with it.
  ///
  /// It waits while ``awaitsAnswer``.
  func nextAnswer() -> DatabaseAnswer? {
    unsafe PQgetResult(pointer).map { unsafe DatabaseAnswer(taking: $0) }
  }

  /// Returns the notices since the last call.
  func takeNotices() -> [ServerNotice] { notices.take() }

  /// Removes all notifications that have arrived; returns whether there was one.
  func takeNotifications() -> Bool {
    var wasNotified = false
    while let notification = unsafe PQnotifies(pointer) {
      unsafe PQfreemem(notification)
      wasNotified = true
    }
    return wasNotified
  }

  /// Returns an identifier in quotes; `nil` when it cannot be one.
  func quoted(_ identifier: String) -> String? {
    let byteCount = identifier.utf8.count
    guard !identifier.utf8.contains(0),
      let quoted = unsafe PQescapeIdentifier(pointer, identifier, byteCount)
    else { return nil }
    defer { unsafe PQfreemem(quoted) }
    return unsafe String(cString: quoted)
  }
}

/// Called by libpq with each notice.
private let receiveNotice: PQnoticeReceiver = { context, result in
  guard let context = unsafe context, let result = unsafe result else { return }
  let list = unsafe Unmanaged<NoticeList>.fromOpaque(context).takeUnretainedValue()
  list.append(
    ServerNotice(
      severity: unsafe session_tools_pq_severity(result).map { unsafe String(cString: $0) },
      state: unsafe session_tools_pq_state(result).flatMap {
        unsafe SQLState(received: String(cString: $0))
      }))
}

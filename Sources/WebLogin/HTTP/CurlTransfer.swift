import CSessionToolsCurl
import Foundation
import SessionToolsBase
import Synchronization
import OAuthLogin

/// One request that libcurl sends, and the part of the answer received so far.
///
/// Unchecked, because only ``CurlTransfers`` calls it, on its thread. Others use only `answer`,
/// which is safe to share.
@safe final class CurlTransfer: @unchecked Sendable {
  /// The answer, or the error in its place.
  let answer = FirstAnswer<Result<OAuthHTTPResponse, OAuthHTTPError>>()
  /// When the answer must be complete.
  let deadline: ContinuousClock.Instant

  private let request: OAuthHTTPRequest
  private let maximumByteCount: Int
  /// The transfer ends when a server sends more header fields than this.
  private static let maximumHeaderByteCount = 64 << 10

  private(set) var handle: UnsafeMutableRawPointer?
  private var lines: UnsafeMutablePointer<curl_slist>?
  /// The body to post, in memory that libcurl reads.
  private var posted: ByteBuffer?
  private let environment = CurlEnvironment()
  /// The port that was connected to last, the server's or a proxy's; libcurl's thread writes it.
  private let port: UnsafeMutablePointer<UInt16>
  /// libcurl's own words about an error.
  private let words: UnsafeMutablePointer<CChar>

  private var headers: [String: String] = [:]
  private var headerByteCount = 0
  private var body = Data()
  private var isTooLarge = false

  init(_ request: OAuthHTTPRequest, deadline: ContinuousClock.Instant, maximumByteCount: Int) {
    self.request = request
    self.deadline = deadline
    self.maximumByteCount = maximumByteCount
    unsafe port = .allocate(capacity: 1)
    unsafe port.initialize(to: 0)
    unsafe words = .allocate(capacity: Int(CURL_ERROR_SIZE))
    unsafe words.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
  }

  deinit {
    unsafe curl_easy_cleanup(handle)
    unsafe curl_slist_free_all(lines)
    unsafe port.deallocate()
    unsafe words.deallocate()
  }

  // MARK: - Sending

  /// Prepares the transfer for sending.
  ///
  /// - Throws: `noResponse` when there is no memory, or libcurl does not support an option.
  func prepare() throws(OAuthHTTPError) {
    let left = max(.milliseconds(1), deadline - .now)
    guard let handle = unsafe curl_easy_init() else { throw Self.withoutMemory }
    unsafe self.handle = handle
    var isReady = unsafe session_tools_curl_allow_only_http(handle) == CURLE_OK
    func check(_ code: CURLcode) { isReady = isReady && code == CURLE_OK }
    // A library must leave the program's signals alone.
    unsafe check(session_tools_curl_set_number(handle, CURLOPT_NOSIGNAL, 1))
    // A hanging name lookup would delay all other requests, which are sent on the same thread.
    unsafe check(session_tools_curl_leave_lookups(handle))
    unsafe check(session_tools_curl_keep_sockets(handle, port))
    unsafe check(session_tools_curl_set_error_buffer(handle, words))
    unsafe check(session_tools_curl_set_text(handle, CURLOPT_URL, request.url.absoluteString))
    if request.url.scheme?.lowercased() == "http" {
      // Sent to this machine itself: a proxy would send it to another machine in plain text.
      unsafe check(session_tools_curl_set_text(handle, CURLOPT_PROXY, ""))
    }
    for (value, options) in [
      (environment.certificateFile, [CURLOPT_CAINFO, CURLOPT_PROXY_CAINFO]),
      (environment.certificateDirectory, [CURLOPT_CAPATH, CURLOPT_PROXY_CAPATH]),
    ] {
      guard let value else { continue }
      for option in options { unsafe check(session_tools_curl_set_text(handle, option, value)) }
    }
    // Some servers compress what they answer whether a client wants it or not. Nothing is asked
    // for, and every coding that libcurl knows is decoded.
    unsafe check(session_tools_curl_set_text(handle, CURLOPT_ACCEPT_ENCODING, "identity"))
    // libcurl repeats a request over a reused connection that turns out to be closed, which would
    // spend a refresh token twice.
    unsafe check(session_tools_curl_set_number(handle, CURLOPT_FRESH_CONNECT, 1))
    unsafe check(session_tools_curl_set_number(handle, CURLOPT_FORBID_REUSE, 1))
    unsafe check(
      session_tools_curl_set_number(handle, CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1)))
    unsafe check(
      session_tools_curl_set_number(
        handle, CURLOPT_TIMEOUT_MS, Int(clamping: Int64((left / .milliseconds(1)).rounded(.up)))))
    unsafe check(
      session_tools_curl_set_number(handle, CURLOPT_MAXFILESIZE, Int(maximumByteCount)))
    if request.method == "POST" {
      let body = ByteBuffer([UInt8](request.body ?? Data()), isSecret: true)
      posted = body
      unsafe check(
        session_tools_curl_set_body(
          handle, body.pointer(to: 0..<body.byteCount), body.byteCount))
    }
    // Leave out libcurl's `Expect` field: a small request need not ask before it sends its body.
    var fields = request.headers.map { "\($0.key): \($0.value)" }
    fields.append("Expect:")
    for field in fields {
      guard let longer = unsafe curl_slist_append(lines, field) else { throw Self.withoutMemory }
      unsafe lines = longer
    }
    unsafe check(session_tools_curl_set_headers(handle, lines))
    unsafe check(
      session_tools_curl_set_receivers(
        handle, receiveHeader, receiveBody, Unmanaged.passUnretained(self).toOpaque()))
    guard isReady else {
      throw OAuthHTTPError(
        .noResponse, wasSent: false,
        reason: "the request cannot be sent by this libcurl")
    }
  }

  /// Fails the transfer before anything was sent.
  func expire() {
    answer.give(
      .failure(
        OAuthHTTPError(
          .timedOut, wasSent: false,
          reason: "the request waited for other requests until its timeout")))
  }

  private static var withoutMemory: OAuthHTTPError {
    OAuthHTTPError(
      .noResponse, wasSent: false, reason: "there is no memory for the request")
  }

  // MARK: - Receiving

  /// Receives a line of the header; returns `false` when the header is too large.
  fileprivate func receive(header line: String) -> Bool {
    headerByteCount += line.utf8.count
    guard headerByteCount <= Self.maximumHeaderByteCount else {
      isTooLarge = true
      return false
    }
    // A status line also begins the next answer after an interim one (RFC 9110, section 15.2).
    if line.hasPrefix("HTTP/") { headers = [:] }
    guard let colon = line.firstIndex(of: ":") else { return true }
    let name = line[..<colon].lowercased()
    let value = line[line.index(after: colon)...].trimmingCharacters(in: .whitespacesAndNewlines)
    if headers[name] == nil { headers[name] = value }
    return true
  }

  /// Receives a part of the body; returns `false` when the body is too large.
  fileprivate func receive(body part: UnsafeRawBufferPointer) -> Bool {
    guard part.count <= maximumByteCount - body.count else {
      isTooLarge = true
      return false
    }
    unsafe body.append(contentsOf: part)
    return true
  }

  /// Completes the transfer with its answer.
  func end(with code: CURLcode) {
    answer.give(result(code))
  }

  private func result(_ code: CURLcode) -> Result<OAuthHTTPResponse, OAuthHTTPError> {
    let status = unsafe session_tools_curl_number(handle, CURLINFO_RESPONSE_CODE)
    let response = OAuthHTTPResponse(status: status, headers: headers, body: body)
    if code == CURLE_OK { return .success(response) }
    let (kind, reason) =
      isTooLarge || code == CURLE_FILESIZE_EXCEEDED
      ? (.tooLarge, "the answer is larger than \(maximumByteCount) bytes") : cause(of: code)
    // What was sent to a proxy that did not connect to the server was no part of the request.
    let isLostAtProxy = proxyStatus >= 300 || [.proxyUnreachable, .proxyRefused].contains(kind)
    let size = unsafe session_tools_curl_number(handle, CURLINFO_REQUEST_SIZE)
    var error = OAuthHTTPError(
      kind, wasSent: size > 0 && !isLostAtProxy,
      status: proxyStatus >= 300 ? proxyStatus : status > 0 ? status : nil, reason: reason)
    if status > 0, !body.isEmpty { error.received = response }
    return .failure(error)
  }

  /// The status with which a proxy answered the request to connect; 0 if none did.
  private var proxyStatus: Int {
    unsafe session_tools_curl_number(handle, CURLINFO_HTTP_CONNECTCODE)
  }

  /// Returns the kind and the text of an error.
  private func cause(of code: CURLcode) -> (OAuthHTTPError.Code, String) {
    let proxy = request.url.scheme?.lowercased() == "https" ? environment.proxy : nil
    let answered = proxyStatus
    let port = unsafe Int(port.pointee)
    let isProxysPort =
      port == proxy?.port
      && (port != request.url.port ?? 443 || !environment.hasExceptions)
    switch (code, proxy) {
    case (CURLE_COULDNT_RESOLVE_HOST, _): return (.nameNotFound, "the server's name was not found")
    case (CURLE_COULDNT_RESOLVE_PROXY, let proxy?) where !proxy.hasHost:
      return (.proxyRefused, "\(proxy.description) has no valid address")
    case (CURLE_COULDNT_RESOLVE_PROXY, let proxy):
      return (.proxyUnreachable, "the name of \(proxy?.description ?? "the proxy") was not found")
    case (CURLE_SSL_CACERT_BADFILE, _), (CURLE_SSL_CRL_BADFILE, _):
      let place = environment.certificateVariable.map { "what \($0) names" }
      return (.untrusted, "\(place ?? "the system's trusted certificates") cannot be read")
    case (CURLE_COULDNT_CONNECT, let proxy?) where port == 0:
      return (.proxyRefused, "\(proxy.description) is of a kind that this libcurl does not know")
    case (_, let proxy?) where answered >= 300:
      return Self.refusal(by: proxy, status: answered)
    case (CURLE_PROXY, let proxy):
      return (.proxyRefused, "\(proxy?.description ?? "the proxy") refused")
    case (CURLE_COULDNT_CONNECT, let proxy?) where isProxysPort:
      return (.proxyUnreachable, "\(proxy.description) could not be reached: \(systemReason(code))")
    case (_, let proxy?) where isProxysPort && proxy.hasStatus && answered == 0:
      // It has not yet connected to the server.
      let reason = cause(of: code, timeout: "it did not answer in time")
      return (
        reason.0 == .noResponse || reason.0 == .timedOut ? .proxyUnreachable : .proxyRefused,
        "\(proxy.description) did not connect to it: \(reason.1)"
      )
    default: return cause(of: code, timeout: "the server did not answer in time")
    }
  }

  /// Returns the kind and the text of an error of a connection, whether to a server or to a proxy.
  private func cause(of code: CURLcode, timeout: String) -> (OAuthHTTPError.Code, String) {
    switch code {
    case CURLE_OPERATION_TIMEDOUT: return (.timedOut, timeout)
    case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS:
      return (.untrusted, detail(code))
    case CURLE_COULDNT_CONNECT: return (.noResponse, systemReason(code))
    case CURLE_SSL_CLIENTCERT: return (.insecure, detail(code))
    case CURLE_SSL_CONNECT_ERROR:
      // OpenSSL's own errors are of what the server sent; others are of the connection.
      let detail = detail(code)
      return (detail.contains("error:") ? .insecure : .noResponse, detail)
    default: return (.noResponse, detail(code))
    }
  }

  private static func refusal(
    by proxy: CurlEnvironment.Proxy, status: Int
  ) -> (OAuthHTTPError.Code, String) {
    switch status {
    case 407: (.proxyRefused, "\(proxy.description) asks for a user and a password")
    case 429, 500...: (.noResponse, "\(proxy.description) answered with status \(status)")
    default: (.proxyRefused, "\(proxy.description) answered with status \(status)")
    }
  }

  /// Returns the kernel's reason why there is no connection.
  private func systemReason(_ code: CURLcode) -> String {
    let errno = unsafe session_tools_curl_number(handle, CURLINFO_OS_ERRNO)
    return errno > 0 ? CurrentProcess.message(for: Int32(errno)) : detail(code)
  }

  /// Returns libcurl's words for an error, which may quote the names in a certificate.
  private func detail(_ code: CURLcode) -> String {
    var text = unsafe String(cString: words)
    // About proxies it may quote the variable, with the password in it.
    if text.isEmpty || text.lowercased().contains("proxy") {
      text =
        unsafe curl_easy_strerror(code).map { unsafe String(cString: $0) }
        ?? "libcurl's error \(code.rawValue)"
    }
    // OpenSSL's words come behind this, and say the same.
    if text.hasPrefix(Self.prefix) { text.removeFirst(Self.prefix.count) }
    return PlainText.shown(text)
  }

  private static let prefix = "SSL certificate problem: "
}

/// Called by libcurl with the lines of a header, one at a time.
private let receiveHeader: curl_write_callback = { bytes, size, count, context in
  unsafe receive(bytes, size * count, context) { transfer, part in
    transfer.receive(header: unsafe String(decoding: part, as: UTF8.self))
  }
}

/// Called by libcurl with parts of a body.
private let receiveBody: curl_write_callback = { bytes, size, count, context in
  unsafe receive(bytes, size * count, context) { transfer, part in
    unsafe transfer.receive(body: part)
  }
}

/// Returns libcurl's count, or another count to end the transfer.
private func receive(
  _ bytes: UnsafeMutablePointer<CChar>?, _ count: Int, _ context: UnsafeMutableRawPointer?,
  _ body: (CurlTransfer, UnsafeRawBufferPointer) -> Bool
) -> Int {
  guard let bytes = unsafe bytes, let context = unsafe context else { return count }
  let transfer = unsafe Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
  let isTaken = unsafe body(transfer, UnsafeRawBufferPointer(start: bytes, count: count))
  return isTaken ? count : count &+ 1
}

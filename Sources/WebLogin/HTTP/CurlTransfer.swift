import CCurl
import Foundation
import SessionToolsBase
import Synchronization

/// One request that libcurl sends, and what it has received of the answer.
///
/// Unchecked: only ``CurlTransfers`` calls it, on its thread. What others use is `answer`, which is
/// safe to share.
@safe final class CurlTransfer: @unchecked Sendable {
  /// The answer, or why there is none.
  let answer = FirstAnswer<Result<HTTPResponse, HTTPError>>()
  /// When the answer has to be complete.
  let deadline: ContinuousClock.Instant

  private let request: HTTPRequest
  private let largestByteCount: Int
  /// A server that sends more header fields than this is not heard to the end.
  private static let largestHeaderByteCount = 64 << 10

  private(set) var handle: UnsafeMutableRawPointer?
  private var lines: UnsafeMutablePointer<curl_slist>?
  /// What is posted, where libcurl reads it.
  private var posted: ByteBuffer?

  private var headers: [String: String] = [:]
  private var headerByteCount = 0
  private var body = Data()
  private var isTooLarge = false

  init(_ request: HTTPRequest, deadline: ContinuousClock.Instant, largestByteCount: Int) {
    self.request = request
    self.deadline = deadline
    self.largestByteCount = largestByteCount
  }

  deinit {
    unsafe curl_easy_cleanup(handle)
    unsafe curl_slist_free_all(lines)
  }

  // MARK: - Sending

  /// Makes ready to send.
  ///
  /// - Throws: `noAnswer` when there is no memory.
  func prepare() throws(HTTPError) {
    let left = max(.milliseconds(1), deadline - .now)
    guard let handle = unsafe curl_easy_init() else { throw Self.withoutMemory }
    unsafe self.handle = handle
    var isReady = unsafe session_tools_curl_allow_only_http(handle) == CURLE_OK
    func check(_ code: CURLcode) { isReady = isReady && code == CURLE_OK }
    // Signals are no business of a library's.
    unsafe check(session_tools_curl_set_number(handle, CURLOPT_NOSIGNAL, 1))
    // One that hangs would hold up all other requests, which are sent on the same thread.
    unsafe check(session_tools_curl_leave_lookups(handle))
    unsafe check(session_tools_curl_keep_sockets(handle))
    unsafe check(session_tools_curl_set_text(handle, CURLOPT_URL, request.url.absoluteString))
    if request.url.scheme?.lowercased() == "http" {
      // To this machine itself: a proxy would take it to another one, in the clear.
      unsafe check(session_tools_curl_set_text(handle, CURLOPT_PROXY, ""))
    }
    // A request over a connection that turns out to be closed is sent again by libcurl itself, which
    // would spend a refresh token twice.
    unsafe check(session_tools_curl_set_number(handle, CURLOPT_FRESH_CONNECT, 1))
    unsafe check(session_tools_curl_set_number(handle, CURLOPT_FORBID_REUSE, 1))
    unsafe check(
      session_tools_curl_set_number(handle, CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1)))
    unsafe check(
      session_tools_curl_set_number(
        handle, CURLOPT_TIMEOUT_MS, Int(clamping: Int64((left / .milliseconds(1)).rounded(.up)))))
    unsafe check(
      session_tools_curl_set_number(handle, CURLOPT_MAXFILESIZE, Int(largestByteCount)))
    if request.method == "POST" {
      let body = ByteBuffer([UInt8](request.body ?? Data()), isSecret: true)
      posted = body
      unsafe check(
        session_tools_curl_set_body(
          handle, body.pointer(to: 0..<body.byteCount), body.byteCount))
    }
    // None of libcurl's own: a small request need not ask before it sends its body.
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
      throw HTTPError(
        HTTPError.noAnswer, wasSent: false, reason: "the request cannot be sent by this libcurl")
    }
  }

  /// Gives up before anything was sent.
  func expire() {
    answer.give(
      .failure(
        HTTPError(
          HTTPError.timedOut, wasSent: false,
          reason: "the request waited for others until its timeout")))
  }

  private static var withoutMemory: HTTPError {
    HTTPError(HTTPError.noAnswer, wasSent: false, reason: "there is no memory for the request")
  }

  // MARK: - Receiving

  /// Takes a line of the header; `false` when it is one too many.
  fileprivate func receive(header line: String) -> Bool {
    headerByteCount += line.utf8.count
    guard headerByteCount <= Self.largestHeaderByteCount else {
      isTooLarge = true
      return false
    }
    // Also of the interim answers before the last one (RFC 9110, section 15.2).
    if line.hasPrefix("HTTP/") { headers = [:] }
    guard let colon = line.firstIndex(of: ":") else { return true }
    let name = line[..<colon].lowercased()
    let value = line[line.index(after: colon)...].trimmingCharacters(in: .whitespacesAndNewlines)
    if headers[name] == nil { headers[name] = value }
    return true
  }

  /// Takes a part of the body; `false` when it is too much.
  fileprivate func receive(body part: UnsafeRawBufferPointer) -> Bool {
    guard part.count <= largestByteCount - body.count else {
      isTooLarge = true
      return false
    }
    unsafe body.append(contentsOf: part)
    return true
  }

  /// Gives the answer.
  func end(with code: CURLcode) {
    answer.give(result(code))
  }

  private func result(_ code: CURLcode) -> Result<HTTPResponse, HTTPError> {
    if code == CURLE_OK {
      let status = unsafe session_tools_curl_number(handle, CURLINFO_RESPONSE_CODE)
      return .success(HTTPResponse(status: status, headers: headers, body: body))
    }
    let wasSent = unsafe session_tools_curl_number(handle, CURLINFO_REQUEST_SIZE) > 0
    switch code {
    case _ where isTooLarge, CURLE_FILESIZE_EXCEEDED:
      return .failure(
        HTTPError(
          HTTPError.tooLarge, wasSent: wasSent,
          reason: "the answer has more than \(largestByteCount) bytes"))
    case CURLE_OPERATION_TIMEDOUT:
      return .failure(
        HTTPError(
          HTTPError.timedOut, wasSent: wasSent, reason: "the server did not answer in time"))
    default:
      let text = unsafe curl_easy_strerror(code).map { unsafe String(cString: $0) }
      return .failure(
        HTTPError(
          HTTPError.noAnswer, wasSent: wasSent, reason: text ?? "libcurl's error \(code.rawValue)"))
    }
  }
}

/// Where libcurl hands over the lines of a header, one at a time.
private let receiveHeader: curl_write_callback = { bytes, size, count, context in
  unsafe receive(bytes, size * count, context) { transfer, part in
    transfer.receive(header: unsafe String(decoding: part, as: UTF8.self))
  }
}

/// Where libcurl hands over parts of a body.
private let receiveBody: curl_write_callback = { bytes, size, count, context in
  unsafe receive(bytes, size * count, context) { transfer, part in
    unsafe transfer.receive(body: part)
  }
}

/// Another count than the one that libcurl gave ends the transfer.
private func receive(
  _ bytes: UnsafeMutablePointer<CChar>?, _ count: Int, _ context: UnsafeMutableRawPointer?,
  _ body: (CurlTransfer, UnsafeRawBufferPointer) -> Bool
) -> Int {
  guard let bytes = unsafe bytes, let context = unsafe context else { return count }
  let transfer = unsafe Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
  let isTaken = unsafe body(transfer, UnsafeRawBufferPointer(start: bytes, count: count))
  return isTaken ? count : count &+ 1
}

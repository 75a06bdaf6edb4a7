/// A page that the listener answers with; it contains nothing from the request.
package struct LoopbackResponse {
  package enum Status: String {
    case fine = "200 OK"
    case badRequest = "400 Bad Request"
    case forbidden = "403 Forbidden"
    case notFound = "404 Not Found"
    case methodNotAllowed = "405 Method Not Allowed"
    case tooLong = "431 Request Header Fields Too Large"
  }

  let status: Status
  let text: String
  /// Called after the answer has been sent.
  var completion: (@Sendable () -> Void)?

  package init(_ status: Status, _ text: String, then completion: (@Sendable () -> Void)? = nil) {
    self.status = status
    self.text = text
    self.completion = completion
  }

  static let malformed = LoopbackResponse(.badRequest, "This request is not valid.")

  static let foreign = LoopbackResponse(
    .forbidden, "Only programs of the user who is logging in are answered here.")

  var bytes: [UInt8] {
    let page = """
      <!doctype html>
      <html lang="en">
      <head><meta charset="utf-8"><title>Login</title></head>
      <body><p>\(text)</p></body>
      </html>

      """
    var lines = [
      "HTTP/1.1 \(status.rawValue)",
      "Content-Type: text/html; charset=utf-8",
      "Content-Length: \(page.utf8.count)",
      // The address of the page contains the code, so it must not leave this page.
      "Cache-Control: no-store",
      "Referrer-Policy: no-referrer",
      "Content-Security-Policy: default-src 'none'; base-uri 'none'; form-action 'none'; "
        + "frame-ancestors 'none'",
      "X-Content-Type-Options: nosniff",
      "Cross-Origin-Opener-Policy: same-origin",
      "Connection: close",
    ]
    if status == .methodNotAllowed { lines.append("Allow: GET") }
    return Array((lines.joined(separator: "\r\n") + "\r\n\r\n" + page).utf8)
  }
}

/// What the listener answers: a page of its own, with nothing in it of what was asked.
package struct LoopbackAnswer {
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
  /// What is done when it has been sent.
  var completion: (@Sendable () -> Void)?

  package init(_ status: Status, _ text: String, then completion: (@Sendable () -> Void)? = nil) {
    self.status = status
    self.text = text
    self.completion = completion
  }

  static let malformed = LoopbackAnswer(.badRequest, "This is not a request of a browser.")

  static let foreign = LoopbackAnswer(
    .forbidden, "Only programs of the person who logs in are answered here.")

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
      // The address of the page holds the code: it goes nowhere from here.
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

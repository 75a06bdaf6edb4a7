import FuzzTargets
import WebLogin

/// A request that a browser, or any program on the machine, sends to the port of a login.
enum CallbackTarget {
  static func check(_ bytes: [UInt8]) throws {
    let request: LoopbackRequest
    do {
      request = try LoopbackRequest(bytes)
    } catch {
      return
    }
    try require(bytes.count <= LoopbackRequest.maximumByteCount, "the request is too long")
    try require(bytes.suffix(4).elementsEqual([13, 10, 13, 10]), "the request has no end")
    try require(
      request.method.utf8.allSatisfy { (0x41...0x5A).contains($0) }, "not a method")
    try require(request.path.hasPrefix("/") && !request.path.contains("?"), "no path")
    for part in [request.path, request.query, request.host] {
      try require(
        part.utf8.allSatisfy { $0 == 0x09 || $0 >= 0x20 && $0 != 0x7F }, "a control character")
    }
    let fields = Form.decode(request.query)
    let again = Form.encode(fields.map { (name: $0.key, value: $0.value) })
    try require(
      fields.isEmpty || Form.decode(again) == fields, "\(request.query) changes when encoded")
    try require(
      again.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "\(again) has characters not valid in a URL"
    )
  }
}

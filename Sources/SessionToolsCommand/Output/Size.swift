/// Sizes and counts for a person.
enum Size {
  /// Returns a number of bytes in the largest binary unit that it fills: "12.5 MiB".
  static func text(_ byteCount: Int) -> String {
    var value = Double(byteCount)
    guard value >= 1024 else { return byteCount == 1 ? "1 byte" : "\(byteCount) bytes" }
    var unit = "bytes"
    for larger in ["KiB", "MiB", "GiB", "TiB"] where value >= 1024 {
      value /= 1024
      unit = larger
    }
    let tenths = Int((value * 10).rounded())
    return tenths % 10 == 0 ? "\(tenths / 10) \(unit)" : "\(tenths / 10).\(tenths % 10) \(unit)"
  }

  /// Returns a number with its noun: "1 item", "2 items".
  static func count(_ number: Int, _ noun: String) -> String {
    "\(number) \(noun)\(number == 1 ? "" : "s")"
  }
}

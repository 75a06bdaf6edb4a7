package import Foundation

/// The date format of HTTP's header fields, such as `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110,
/// 5.6.7).
package enum HTTPDate {
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// Parses the form that servers must send; `nil` for anything else.
  package static func date(_ text: String) -> Date? {
    let parts = text.split(separator: " ")
    guard parts.count == 6, parts[5] == "GMT", let month = months.firstIndex(of: String(parts[2])),
      let day = Int(parts[1]), let year = Int(parts[3]), (1970...9999).contains(year)
    else { return nil }
    let time = parts[4].split(separator: ":").compactMap { Int($0) }
    guard time.count == 3, (1...31).contains(day) else { return nil }
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = .gmt
    return calendar.date(
      from: DateComponents(
        year: year, month: month + 1, day: day, hour: time[0], minute: time[1], second: time[2]))
  }
}

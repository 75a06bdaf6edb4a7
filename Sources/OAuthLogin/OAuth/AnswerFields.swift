import Foundation

/// The fields of an answer, read leniently: a field that is absent, null, empty or of another type
/// is absent, because servers differ, and a field that is not needed must not cost one that is.
///
/// Numbers may be written as texts, and lists of texts as one text. A form is read, too: some
/// servers answer with one whatever `Accept` says. So are the tokens of JSON that is not valid.
struct AnswerFields {
  private enum Fields {
    case json(KeyedDecodingContainer<Name>)
    /// Of a form, or of an answer that is torn.
    case texts([String: String])
  }

  private struct Name: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  /// A text, or something else that is passed over.
  private struct Text: Decodable {
    let text: String?

    init(from decoder: any Decoder) throws {
      text = try? decoder.singleValueContainer().decode(String.self)
    }
  }

  private let fields: Fields

  /// Reads the fields of a form; `nil` if it has none of this protocol.
  init?(form body: Data) {
    guard let text = String(validating: body, as: UTF8.self) else { return nil }
    let names = ["access_token", "refresh_token", "device_code", "error"]
    let fields = Form.decode(text.trimmingCharacters(in: .whitespacesAndNewlines))
    guard names.contains(where: { fields[$0] != nil }) else { return nil }
    self.fields = .texts(fields)
  }

  /// Reads the tokens of an answer that is not valid JSON; `nil` without any.
  init?(torn body: Data) {
    guard let torn = TornAnswer(body) else { return nil }
    fields = .texts(torn.members)
  }

  /// Returns a text that is not empty or blank.
  func text(_ name: String) -> String? {
    let text =
      switch fields {
      case .json(let values): try? values.decode(String.self, forKey: Name(stringValue: name))
      case .texts(let fields): fields[name]
      }
    return text?.allSatisfy(\.isWhitespace) == false ? text : nil
  }

  /// Returns the texts of a list, or one text as a list; `nil` if there is neither.
  func texts(_ name: String) -> [String]? {
    if let text = text(name) { return [text] }
    guard case .json(let values) = fields,
      let list = try? values.decode([Text].self, forKey: Name(stringValue: name))
    else { return nil }
    return list.compactMap(\.text).filter { !$0.isEmpty }
  }

  /// Returns a finite number.
  func number(_ name: String) -> Double? {
    var number: Double?
    if case .json(let values) = fields {
      number = try? values.decode(Double.self, forKey: Name(stringValue: name))
    }
    let text = text(name)?.trimmingCharacters(in: .whitespaces)
    return (number ?? text.flatMap(Double.init)).flatMap { $0.isFinite ? $0 : nil }
  }

  /// Returns whether a field is true.
  func flag(_ name: String) -> Bool {
    if case .json(let values) = fields,
      let flag = try? values.decode(Bool.self, forKey: Name(stringValue: name))
    {
      return flag
    }
    return text(name)?.lowercased() == "true"
  }
}

extension AnswerFields: Decodable {
  /// - Throws: If the value is not an object.
  init(from decoder: any Decoder) throws {
    fields = .json(try decoder.container(keyedBy: Name.self))
  }
}

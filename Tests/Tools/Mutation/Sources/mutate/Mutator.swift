import SwiftOperators
import SwiftParser
import SwiftSyntax

/// A rewriter that inserts every mutant of a file, none of them active.
///
/// Each mutant is chosen at run time, `mutated(17) ? … : …`, so that one build has all of them. The
/// text is rebuilt from the syntax tree; code without mutants stays unchanged.
struct Mutator {
  private let file: String
  private let tree: SourceFileSyntax
  private let locations: SourceLocationConverter
  private var nextNumber: Int
  private var occurrences: [String: Int] = [:]
  private(set) var mutants: [Mutant] = []

  private static let comparisons: Set = ["==", "!=", "===", "!==", "<", "<=", ">", ">=", "~="]
  private static let boundaries = ["<": "<=", "<=": "<", ">": ">=", ">=": ">"]
  /// The functions whose calls matter only for safety.
  private static let skippable: Set = [
    "synchronize", "synchronizeData", "check", "checkEmpty", "checkSizes", "checkSlot",
    "checkVacancy", "wipe", "sodium_memzero", "truncate",
  ]

  init(_ source: String, file: String, firstNumber: Int) {
    self.file = file
    // An operator that is not in this table stays unfolded and is not mutated.
    let folded = OperatorTable.standardOperators.foldAll(Parser.parse(source: source)) { _ in }
    guard let tree = folded.as(SourceFileSyntax.self) else { fatalError("\(file) has no source") }
    self.tree = tree
    locations = SourceLocationConverter(fileName: file, tree: tree)
    nextNumber = firstNumber
  }

  /// Returns the text of the file with all of its mutants.
  mutating func mutated() -> String { render(Syntax(tree)) }

  private mutating func render(_ node: Syntax) -> String {
    if let token = node.as(TokenSyntax.self) { return token.description }
    var text = ""
    for child in node.children(viewMode: .sourceAccurate) { text += render(child) }
    let lead = node.leadingTrivia.description
    let trail = node.trailingTrivia.description
    let body = String(
      decoding: text.utf8.dropFirst(lead.utf8.count).dropLast(trail.utf8.count), as: UTF8.self)
    return lead + mutate(node, body) + trail
  }

  private mutating func mutate(_ node: Syntax, _ body: String) -> String {
    if let item = node.as(CodeBlockItemSyntax.self) {
      guard case .expr(let expression) = item.item, isSkippable(expression),
        !isValueOfClosure(item)
      else { return body }
      return "if !mutated(\(add(.skipped, node))) { \(body) }"
    }
    guard let expression = node.as(ExprSyntax.self) else { return body }
    var body = body
    if let operation = comparison(expression) {
      body = "(mutated(\(add(.inverted, node))) != (\(body)))"
      if let other = Self.boundaries[operation.name] {
        let (left, right) = (operation.sides.leftOperand, operation.sides.rightOperand)
        body = "(mutated(\(add(.boundary, node))) ? (\(left) \(other) \(right)) : \(body))"
      }
    } else if isNegation(expression) || (role(of: node) != nil && isPlain(expression)) {
      body = "(mutated(\(add(.inverted, node))) != (\(body)))"
    }
    if let role = role(of: node), !expression.is(BooleanLiteralExprSyntax.self) {
      body = "(mutated(\(add(.removed, node))) ? \(role == .mustHold) : (\(body)))"
    }
    return body
  }

  // MARK: - Code that can be mutated

  private func comparison(
    _ expression: ExprSyntax
  ) -> (name: String, sides: InfixOperatorExprSyntax)? {
    guard let infix = expression.as(InfixOperatorExprSyntax.self),
      let name = infix.operator.as(BinaryOperatorExprSyntax.self)?.operator.text,
      Self.comparisons.contains(name)
    else { return nil }
    return (name, infix)
  }

  private func isNegation(_ expression: ExprSyntax) -> Bool {
    expression.as(PrefixOperatorExprSyntax.self)?.operator.text == "!"
  }

  /// Returns whether a condition is plain.
  ///
  /// Comparisons are not, and neither are combined conditions, whose parts are mutated separately.
  private func isPlain(_ expression: ExprSyntax) -> Bool {
    expression.is(FunctionCallExprSyntax.self) || expression.is(MemberAccessExprSyntax.self)
      || expression.is(DeclReferenceExprSyntax.self)
  }

  /// The effect of a condition on the code below it.
  private enum Role {
    /// The code below is not reached unless it holds: a guard, a part of a conjunction.
    case mustHold
    /// The code below runs only if it holds: an `if`, a part of a disjunction.
    case opens
  }

  private func role(of node: Syntax) -> Role? {
    // `try` and `unsafe` may enclose a condition; the inner expression is the condition.
    isMarked(node) || node.is(BinaryOperatorExprSyntax.self) ? nil : roleOfPlace(of: node)
  }

  private func isMarked(_ node: Syntax) -> Bool {
    node.is(TryExprSyntax.self) || node.is(UnsafeExprSyntax.self)
  }

  private func roleOfPlace(of node: Syntax) -> Role? {
    guard let parent = node.parent else { return nil }
    if isMarked(parent) { return roleOfPlace(of: parent) }
    if let infix = parent.as(InfixOperatorExprSyntax.self),
      let name = infix.operator.as(BinaryOperatorExprSyntax.self)?.operator.text
    {
      if name == "&&" { return .mustHold }
      if name == "||" { return .opens }
      return nil
    }
    if parent.is(ConditionElementSyntax.self) {
      return parent.parent?.parent?.is(GuardStmtSyntax.self) == true ? .mustHold : .opens
    }
    if parent.is(WhereClauseSyntax.self) { return .mustHold }
    if let choice = parent.as(TernaryExprSyntax.self), choice.condition.id == node.id {
      return .opens
    }
    return nil
  }

  /// Returns whether a statement is the value of a closure, which may be that of a system call.
  private func isValueOfClosure(_ item: CodeBlockItemSyntax) -> Bool {
    guard let list = item.parent?.as(CodeBlockItemListSyntax.self) else { return false }
    return list.count == 1 && list.parent?.is(ClosureExprSyntax.self) == true
      && item.tokens(viewMode: .sourceAccurate).contains { $0.text == "check" }
  }

  private func isSkippable(_ statement: ExprSyntax) -> Bool {
    var expression = statement
    while true {
      if let inner = expression.as(TryExprSyntax.self) {
        expression = inner.expression
      } else if let inner = expression.as(UnsafeExprSyntax.self) {
        expression = inner.expression
      } else {
        break
      }
    }
    guard let called = expression.as(FunctionCallExprSyntax.self)?.calledExpression else {
      return false
    }
    let name =
      called.as(MemberAccessExprSyntax.self)?.declName.baseName.text
      ?? called.as(DeclReferenceExprSyntax.self)?.baseName.text
    return name.map(Self.skippable.contains) ?? false
  }

  // MARK: - The list

  private mutating func add(_ kind: Mutant.Kind, _ node: Syntax) -> Int {
    let number = nextNumber
    nextNumber += 1
    let code = node.trimmedDescription.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    let place = "\(file) \(function(around: node)) \(kind.rawValue) \(code)"
    let occurrence = occurrences[place, default: 0] + 1
    occurrences[place] = occurrence
    let start = locations.location(for: node.positionAfterSkippingLeadingTrivia)
    mutants.append(
      Mutant(
        number: number, name: "\(place) #\(occurrence)", kind: kind, file: file, line: start.line,
        code: code))
    return number
  }

  private func function(around node: Syntax) -> String {
    var next = node.parent
    while let current = next {
      if let function = current.as(FunctionDeclSyntax.self) { return function.name.text }
      if current.is(InitializerDeclSyntax.self) { return "init" }
      if let binding = current.as(PatternBindingSyntax.self),
        current.parent?.parent?.parent?.is(MemberBlockItemSyntax.self) == true
      {
        return binding.pattern.trimmedDescription
      }
      next = current.parent
    }
    return "-"
  }
}

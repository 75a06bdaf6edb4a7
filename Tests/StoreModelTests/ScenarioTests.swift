import SessionToolsStoreModel
import SessionToolsTestSupport
import Testing

/// The search finds nothing where every rule is kept, and something wherever one is left out.
@Suite struct ScenarioTests {
  static let size = TestSize.choose(
    small: ModelSize.small, medium: .medium, large: .large)

  @Test(arguments: Scenario.sound(size))
  func `every promise is kept`(scenario: Scenario) {
    let outcome = Search.run(scenario)
    #expect(outcome.violation == nil, "\(outcome.report)")
    if case .all = scenario.bounds { #expect(outcome.isExhausted, "\(outcome.count)") }
    // At the large size, the figures are of interest in any case.
    if TestSize.current == .large { print("\(scenario): \(outcome.summary)") }
  }

  @Test(arguments: Scenario.leftOut)
  func `each rule is needed`(scenario: Scenario) {
    let outcome = Search.run(scenario)
    guard case .breaks(let words) = scenario.expectation else {
      Issue.record("\(scenario) expects no violation")
      return
    }
    #expect(outcome.violation?.contains(words) == true, "\(outcome.report)")
    #expect(outcome.trace.last?.hasPrefix("!!") == true)
  }

  @Test(arguments: Scenario.leftOut)
  func `nothing is found once the rule is kept`(scenario: Scenario) {
    let outcome = Search.run(scenario.withAllRules)
    #expect(outcome.violation == nil, "\(outcome.report)")
    #expect(outcome.isExhausted)
  }

  @Test(arguments: Scenario.limits)
  func `the search shows what the protocol does not promise`(scenario: Scenario) {
    let outcome = Search.run(scenario)
    guard case .breaks(let words) = scenario.expectation else {
      Issue.record("\(scenario) expects no violation")
      return
    }
    #expect(outcome.violation?.contains(words) == true, "\(outcome.report)")
  }

  @Test func `every rule is left out once`() {
    let rules = Mirror(reflecting: Rules()).children.count
    #expect(Scenario.leftOut.count >= rules)
    #expect(Set(Scenario.leftOut.map(\.leftOutRules)).count == rules)
  }
}

extension Scenario {
  /// The names of the rules that it leaves out.
  fileprivate var leftOutRules: [String] {
    Mirror(reflecting: rules).children.compactMap { child in
      child.value as? Bool == false ? child.label : nil
    }
  }
}

/// The text of a server's `version()`, which says whether it is the database that it seems to be.
package enum ServerVersion {
  /// The first release with `xid8` and `pg_current_snapshot`.
  private static let oldest = 13
  /// Databases that speak PostgreSQL's protocol and have other locks or other transaction numbers.
  private static let others = [
    "CockroachDB", "Yugabyte", "Redshift", "Greenplum", "Cloudberry", "Materialize", "RisingWave",
    "openGauss", "GaussDB", "CrateDB", "QuestDB", "CedarDB", "Vertica", "Spanner",
  ]

  /// Returns why a server cannot hold a store; `nil` when it can.
  package static func objection(to text: String) -> String? {
    let words = text.split(separator: " ")
    let said = "the server is not PostgreSQL, but '\(text.prefix(60))'"
    guard words.count > 2, words[0] == "PostgreSQL",
      // As PostgreSQL itself writes it: others put their names behind the number.
      let major = major(of: words[1]), text.contains("compiled by"),
      !others.contains(where: { text.lowercased().contains($0.lowercased()) })
    else { return said }
    return major < oldest ? "the server is PostgreSQL \(words[1]), which is too old" : nil
  }

  /// Returns the first number of "15.20", "18beta1", "18rc1", "19devel" or "15.20,".
  private static func major(of word: Substring) -> Int? {
    let isNumber = word.wholeMatch(of: /([0-9]+)(\.[0-9]+)*(beta[0-9]+|rc[0-9]+|devel)?,?/)
    return isNumber.flatMap { Int($0.1) }
  }
}

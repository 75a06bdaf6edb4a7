/// The tables and roles of a store, as one text of SQL.
package enum DatabaseSchema {
  /// The names in the text, each already quoted where it has to be.
  package struct Names: Sendable {
    package let schema: String
    package let owner: String
    package let application: String
    package let auditor: String

    /// Takes names that a person did not choose, or that `PQescapeIdentifier` quoted: they become a
    /// part of the statements as they are.
    package init(
      schema: String = "session_tools", owner: String = "session_tools_owner",
      application: String = "session_tools_application",
      auditor: String = "session_tools_auditor"
    ) {
      self.schema = schema
      self.owner = owner
      self.application = application
      self.auditor = auditor
    }
  }

  /// Returns the statements that make an empty schema and its three roles, in one transaction.
  ///
  /// They need a role that may create roles, and `CREATE` on the database.
  ///
  /// - Parameters:
  ///   - names: The names, each in quotes where it has to be.
  ///   - existingRoles: The roles, by the same names, that need not be made.
  ///   - end: Further statements of the same transaction.
  /// - Returns: The statements.
  package static func text(
    _ names: Names = Names(), existingRoles: Set<String> = [], end: String = ""
  ) -> String {
    let roles = [names.owner, names.application, names.auditor]
      .filter { !existingRoles.contains($0) }.map { "CREATE ROLE \($0) NOLOGIN;\n" }.joined()
    return """
      BEGIN;
      SET LOCAL search_path = pg_catalog;
      \(roles)\
      GRANT \(names.owner) TO CURRENT_USER;
      CREATE SCHEMA \(names.schema) AUTHORIZATION \(names.owner);
      SET LOCAL ROLE \(names.owner);

      CREATE TABLE \(names.schema).header (
        one bool PRIMARY KEY DEFAULT true CHECK (one),
        format int4 NOT NULL,
        number int8 NOT NULL,
        least_epoch int4 NOT NULL,
        swept xid8 NOT NULL DEFAULT '0',
        bytes bytea NOT NULL
      );

      CREATE TABLE \(names.schema).item (
        ns bytea NOT NULL,
        shard int2 NOT NULL,
        tag bytea NOT NULL,
        version int8 NOT NULL,
        epoch int4 NOT NULL,
        gone bool NOT NULL,
        xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
        write bytea NOT NULL,
        nonce bytea NOT NULL,
        name bytea NOT NULL,
        value bytea NOT NULL,
        PRIMARY KEY (ns, shard, tag)
      ) WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02);
      ALTER TABLE \(names.schema).item
        ALTER name SET STORAGE EXTERNAL,
        ALTER value SET STORAGE EXTERNAL;
      CREATE INDEX item_xid ON \(names.schema).item (xid);
      CREATE INDEX item_gone ON \(names.schema).item (xid) WHERE gone;

      CREATE TABLE \(names.schema).lease (
        shard int2 NOT NULL,
        tag bytea NOT NULL,
        holder bytea NOT NULL,
        until timestamptz NOT NULL,
        PRIMARY KEY (shard, tag)
      ) WITH (fillfactor = 50);

      CREATE TABLE \(names.schema).horizon (
        at timestamptz PRIMARY KEY,
        xid xid8 NOT NULL
      );

      GRANT USAGE ON SCHEMA \(names.schema) TO \(names.application), \(names.auditor);
      GRANT SELECT ON ALL TABLES IN SCHEMA \(names.schema)
        TO \(names.application), \(names.auditor);
      GRANT INSERT, UPDATE, DELETE
        ON \(names.schema).item, \(names.schema).lease, \(names.schema).horizon
        TO \(names.application);
      GRANT UPDATE ON \(names.schema).header TO \(names.application);
      \(end)COMMIT;

      """
  }
}

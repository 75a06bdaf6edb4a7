import DatabaseStore
import Testing

/// Which servers are taken for PostgreSQL, by what `version()` returns.
@Suite struct ServerVersionTests {
  @Test(arguments: [
    """
    PostgreSQL 15.20 (Debian 15.20-0+deb12u1) on x86_64-pc-linux-gnu, compiled by gcc \
    (Debian 12.2.0-14+deb12u1) 12.2.0, 64-bit
    """,
    "PostgreSQL 13.0 on aarch64-unknown-linux-gnu, compiled by gcc, 64-bit",
    "PostgreSQL 17.0 on x86_64-linux, compiled by gcc-13.3.0, 64-bit",
    "PostgreSQL 18beta1 on x86_64-linux, compiled by clang-19, 64-bit",
    "PostgreSQL 15.2, compiled by Visual C++ build 1914, 64-bit",
  ])
  func `PostgreSQL since 13 is accepted`(text: String) {
    #expect(ServerVersion.objection(to: text) == nil)
  }

  @Test(arguments: [
    "CockroachDB CCL v23.1.11 (x86_64-pc-linux-gnu, built 2023/09/27, go1.19.10)",
    "PostgreSQL 11.2-YB-2.25.0.0-b0 on x86_64-pc-linux-gnu, compiled by clang, 64-bit",
    """
    PostgreSQL 15.2 (YugabyteDB 2.25) on x86_64-pc-linux-gnu, compiled by clang version 17, 64-bit
    """,
    "PostgreSQL 8.0.2 on i686-pc-linux-gnu, compiled by GCC gcc (GCC) 3.4.2, Redshift 1.0.12103",
    "PostgreSQL 13.14.0-RisingWave-2.0.0 (abc)",
    "PostgreSQL 14.4 (Greenplum Database 7.0.0) on x86_64-pc-linux-gnu, compiled by gcc, 64-bit",
    "PostgreSQL 12.22 on x86_64-pc-linux-gnu, compiled by gcc, 64-bit",
    "PostgreSQL 9.6.24 on x86_64-pc-linux-gnu, compiled by gcc, 64-bit",
    "PostgreSQL 14.1", "PostgreSQL", "", "8.0.35",
  ])
  func `other databases and older ones are refused`(text: String) {
    #expect(ServerVersion.objection(to: text) != nil)
  }
}

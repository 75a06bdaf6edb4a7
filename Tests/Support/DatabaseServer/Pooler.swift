import Foundation
import SessionToolsTestSupport

/// PgBouncer in front of a server, in transaction pooling, without TLS.
package final class Pooler: Sendable {
  package let port: UInt16
  private let program: KeptProgram

  package init(of server: DatabaseServer) async throws {
    let directory = try KeptProgram.makeDirectory()
    port = try LocalPort.free()
    let configuration = """
      [databases]
      * = host=\(server.directory) port=\(server.port) user=postgres
      [pgbouncer]
      listen_addr = 127.0.0.1
      listen_port = \(port)
      unix_socket_dir =
      auth_type = any
      pool_mode = transaction
      default_pool_size = 3
      """
    try configuration.write(
      toFile: "\(directory)/pgbouncer.ini", atomically: false, encoding: .utf8)
    // Whatever the umask is: the pooler may run as another user.
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o644], ofItemAtPath: "\(directory)/pgbouncer.ini")
    program = try KeptProgram(
      "/usr/sbin/pgbouncer", ["--quiet", "\(directory)/pgbouncer.ini"], in: directory)
    try await wait(until: "the pooler is ready") {
      guard program.isRunning else { throw NeverHappened(what: "the pooler starts") }
      guard let descriptor = LocalPort.connect(to: port) else { return false }
      close(descriptor)
      return true
    }
  }
}

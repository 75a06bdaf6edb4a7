import ArgumentParser
import SessionToolsBase

/// `session-tools docker-credential`.
struct DockerCredentialCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "docker-credential",
    abstract: "Keep Docker's credentials in a store, as its helper.",
    discussion: """
      Docker starts docker-credential-session-tools, a link that is installed beside \
      session-tools, with get, store, erase or list; the store is the one that \
      \(Settings.storeVariable) names. A credential is an item of the service docker with the \
      identifier USER@SERVER, as migrate --from docker: names it. Errors go to standard output, \
      where Docker expects them, with exit status 1.

      Example:
        grep credsStore ~/.docker/config.json   # "credsStore": "session-tools"
        export \(Settings.storeVariable)=~/vault
        docker login registry.example.com
      """)

  @OptionGroup var store: StoreOption
  @OptionGroup var access: AccessOptions

  @Argument(
    help: "get, store, erase, list or version.",
    completion: .list(["get", "store", "erase", "list", "version"]))
  var action: String

  func validate() throws {
    try KeyArgument.checkDescriptors(access.secrets, isInputTaken: true)
  }

  func run() throws {
    do {
      try perform()
    } catch {
      let text = RootCommand.text(of: error)
      try StandardOutput.write(text.escapingControls() + "\n")
      throw ExitCode(ExitStatus.failure.rawValue)
    }
  }

  private func perform() throws {
    switch action {
    case "version":
      try StandardOutput.write(
        "docker-credential-session-tools (SessionTools) \(Version.current)\n")
    case "get":
      let server = try DockerHelper.server(readInput())
      try StandardOutput.write(helper().get(server))
    case "list":
      try StandardOutput.write(helper().list())
    case "store":
      let input = try readInput()
      try change { try $0.store(input) }
    case "erase":
      let server = try DockerHelper.server(readInput())
      try change { try $0.erase(server) }
    default:
      throw Failure(.usage, "Unknown credential action `\(action)`")
    }
  }

  private func change(_ body: (DockerHelper) throws -> Void) throws {
    let helper = try helper()
    try body(helper)
    helper.open.close()
  }

  private func helper() throws -> DockerHelper {
    DockerHelper(open: try access.openItems(at: try store.location()))
  }

  private func readInput() throws(StoreError) -> SecretBytes {
    try StandardInput.readValue(atMost: 1 << 20)
  }
}

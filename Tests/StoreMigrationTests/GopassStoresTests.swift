import SessionToolsCommand
import StoreMigration
import Testing

/// The two formats in which gopass lists its stores.
@Suite struct GopassStoresTests {
  @Test func `the configuration since 1.15 names the root and the mounts`() {
    let stores = GopassStores(
      configuration: """
        [core]
        \tautosync = false
        \tpath = /not/this
        [mounts]
        \tpath = /home/ada/.local/share/gopass/stores/root
        [mounts "work"]
        \tpath = "/srv/work store"
        [mounts "team/ops"]
        \tpath = /srv/ops
        [recipients]
        \thash = c9

        """)
    #expect(stores.root == "/home/ada/.local/share/gopass/stores/root")
    #expect(stores.mounts == ["work": "/srv/work store", "team/ops": "/srv/ops"])
  }

  @Test func `the configuration before 1.15 names them, too`() {
    let flat = GopassStores(
      yaml: """
        autoimport: true
        mounts:
          work: gpgcli-gitcli-fs+file:///srv/work
          ops: /srv/ops
        nocolor: false
        path: /home/ada/.password-store

        """)
    #expect(flat.root == "/home/ada/.password-store")
    #expect(flat.mounts == ["work": "/srv/work", "ops": "/srv/ops"])
    let nested = GopassStores(
      yaml: """
        root:
          askformore: false
          path: gpgcli-gitcli-fs+file:///home/ada/.password-store
        mounts: {}
        version: 1.8.0

        """)
    #expect(nested.root == "/home/ada/.password-store" && nested.mounts.isEmpty)
  }
}

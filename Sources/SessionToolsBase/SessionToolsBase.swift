@_exported public import SecretStores
@_exported public import SessionToolsSessions

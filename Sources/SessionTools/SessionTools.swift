@_exported public import SealedStore
@_exported public import SecretServiceStore
@_exported public import SessionToolsBase

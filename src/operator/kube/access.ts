/** How the API server is reached, and as whom. */
export interface KubeAccess {
  /** `https://host:port`, perhaps with a path. */
  server: string
  /** The name that the server's certificate must bear, where it is not the host. */
  serverName?: string
  /** The authorities of the system where it is not given. */
  ca?: Secret
  token?: Secret
  clientCert?: Secret
  clientKey?: Secret
  /** The namespace of the pod, or of the context. */
  namespace?: string
}

/** A file is read again when it changes: tokens and certificates are replaced while the operator runs. */
export type Secret = { file: string } | { text: string }

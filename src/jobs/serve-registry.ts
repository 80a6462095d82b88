import { systemClock } from '../lib/clock.ts'
import type { TlsFiles } from '../lib/listen.ts'
import type { OnProgress } from '../observe/progress.ts'
import type { RegistryServer } from '../registry/serve/open-registry-server.ts'
import { readSide, type SchemaSide } from './schema-sides.ts'
import { readTlsFiles } from './tls-files.ts'

export interface ServedRegistry {
  host: string
  port: number
  /** Of a registry without a backup. */
  firstId: number
  /** What it serves, read-only; without it, it is empty and takes all. */
  backup?: SchemaSide
  basicAuth?: { username: string; password: string }
  /** Paths of PEM files. */
  tls?: TlsFiles
  onProgress?: OnProgress
  /** Called with failures that are not the fault of a request. */
  onFailure?: (error: unknown) => void
}

/** Serves until it is closed. */
export async function openRegistry(options: ServedRegistry, signal: AbortSignal): Promise<RegistryServer> {
  const [{ RegistryStore }, { openRegistryServer }] = await Promise.all([
    import('../registry/serve/registry-store.ts'),
    import('../registry/serve/open-registry-server.ts'),
  ])
  const { host, port, firstId, backup, basicAuth, tls, onFailure = () => undefined } = options
  const { onProgress = () => undefined } = options
  const read = tls && (() => readTlsFiles(tls))
  const files = await read?.()
  const store = backup
    ? new RegistryStore({ isReadOnly: true }, (await readSide(backup, onProgress, signal)).snapshot)
    : new RegistryStore({ firstId })
  const secured = read && files && { tls: files, tlsSource: { read, clock: systemClock, onFailure } }
  return openRegistryServer({ store, host, port, ...(basicAuth && { basicAuth }), ...secured })
}

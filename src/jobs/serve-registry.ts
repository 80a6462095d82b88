import { readFile } from 'node:fs/promises'
import { KafkaBackupError } from '../errors.ts'
import type { RegistryServer } from '../registry/serve/open-registry-server.ts'
import { readSide, type SchemaSide } from './schema-sides.ts'

export interface ServedRegistry {
  host: string
  port: number
  /** Of a registry without a backup. */
  firstId: number
  /** What it serves, read-only; without it, it is empty and takes all. */
  backup?: SchemaSide
  basicAuth?: { username: string; password: string }
  /** Paths of PEM files. */
  tls?: { cert: string; key: string; ca?: string }
}

/** Serves until it is closed. */
export async function openRegistry(options: ServedRegistry, signal: AbortSignal): Promise<RegistryServer> {
  const [{ RegistryStore }, { openRegistryServer }] = await Promise.all([
    import('../registry/serve/registry-store.ts'),
    import('../registry/serve/open-registry-server.ts'),
  ])
  const { host, port, firstId, backup, basicAuth, tls } = options
  const files = tls && (await readFiles(tls))
  const store = backup
    ? new RegistryStore({ isReadOnly: true }, (await readSide(backup, signal)).snapshot)
    : new RegistryStore({ firstId })
  return openRegistryServer({ store, host, port, ...(basicAuth && { basicAuth }), ...(files && { tls: files }) })
}

async function readFiles({ cert, key, ca }: NonNullable<ServedRegistry['tls']>) {
  return {
    cert: await readPem('--tls-cert', cert),
    key: await readPem('--tls-key', key),
    ...(ca !== undefined && { ca: await readPem('--tls-ca', ca) }),
  }
}

async function readPem(option: string, path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    const { message } = cause as Error
    throw new KafkaBackupError('USAGE', `${option} ${path} cannot be read: ${message}`, { cause })
  }
}

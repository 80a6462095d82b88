import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { RegistrySnapshot } from '../../src/archive/registry-model.ts'
import type { BackupJobDocument, RestoreJobDocument } from '../../src/index.ts'
import { openRegistryServer } from '../../src/registry/serve/open-registry-server.ts'
import { RegistryStore } from '../../src/registry/serve/registry-store.ts'

type RegistryDocument = NonNullable<NonNullable<BackupJobDocument['enterprise']>['schema_registry']>

export interface TwoRegistries {
  source: RegistryStore
  target: RegistryStore
  /** Requests to the target, as `METHOD path`. */
  requests: string[]
  folder: string
  sourceUrl: string
  targetUrl: string
  backupJob(registry?: Partial<RegistryDocument>): BackupJobDocument
  restoreJob(restore?: RegistryDocument['restore']): RestoreJobDocument
}

/** A registry with what the snapshot holds, an empty one that gives other IDs, and a folder for backups; no Kafka. */
export async function withTwoRegistries(
  snapshot: RegistrySnapshot,
  work: (two: TwoRegistries) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'kafka-backup-schemas-'))
  const [source, target] = [new RegistryStore({}, snapshot), new RegistryStore({ firstId: 1001 })]
  const requests: string[] = []
  const onRequest = (request: { method: string; target: string }) =>
    requests.push(`${request.method} ${request.target}`)
  const place = { host: '127.0.0.1', port: 0 }
  const first = await openRegistryServer({ ...place, store: source })
  const second = await openRegistryServer({ ...place, store: target, onRequest })
  const common = { backup_id: 'orders', storage: { backend: 'filesystem', path: folder } } as const
  const nobody = { bootstrap_servers: ['127.0.0.1:1'] }
  try {
    await work({
      ...{ source, target, requests, folder, sourceUrl: first.url, targetUrl: second.url },
      backupJob: registry => ({
        ...{ mode: 'backup', ...common, source: { ...nobody, topics: { include: ['*'] } } },
        // Fake clusters have no group coordinator, and one that does not answer is waited for.
        backup: { consumer_groups: { include: [] } },
        enterprise: { schema_registry: { enabled: true, url: first.url, ...registry } },
      }),
      restoreJob: restore => ({
        ...{ mode: 'restore', ...common, target: nobody },
        enterprise: { schema_registry: { enabled: true, url: second.url, ...(restore && { restore }) } },
      }),
    })
  } finally {
    await first.close()
    await second.close()
    await rm(folder, { recursive: true })
  }
}

/** Requests that change a registry; a lookup is a POST that does not. */
export function writesIn(requests: readonly string[]): string[] {
  return requests.filter(one => !one.startsWith('GET ') && !/^POST \/subjects\/[^/?]+(\?|$)/.test(one))
}

import type { RegistrySnapshot } from '../../src/archive/registry-model.ts'
import { parseJob } from '../../src/config/load-job.ts'
import { compareJob } from '../../src/jobs/compare.ts'
import type { Hooks } from '../../src/jobs/parts.ts'
import {
  dryRunRestoreJob,
  finishRestoreJob,
  type Probe,
  prepareRestoreJob,
  restoreShardJob,
  runRestoreJob,
} from '../../src/jobs/restore.ts'
import type { OnProgress } from '../../src/observe/progress.ts'
import { openRegistryServer } from '../../src/registry/serve/open-registry-server.ts'
import { RegistryStore } from '../../src/registry/serve/registry-store.ts'
import type { CompareReport } from '../../src/restore/compare.ts'
import type { BackupRestoreDryRun } from '../../src/restore/dry-run.ts'
import type { PreparedRestore } from '../../src/restore/prepare-restore.ts'
import type { BackupRestoreReport } from '../../src/restore/restore-backup.ts'
import type { RestoreShardReport } from '../../src/restore/restore-shard.ts'
import { openFilesystemStorage } from '../../src/storage/file/filesystem.ts'
import type { Storage } from '../../src/storage/storage.ts'
import type { FakeTopic } from '../fakes/fake-cluster.ts'
import { type FakeTarget, withFakeTarget } from '../restore/fake-target.ts'
import { openTemporary } from '../storage/temporary-storage.ts'

const never = new AbortController().signal

/** A target of data and schemas as jobs meet it. */
export interface SchemaTarget {
  kafka: FakeTarget
  /** Of the backup. */
  storage: Storage
  registry: RegistryStore
  /** Requests to the registry that could change it. */
  writes: string[]
  /** Called at each of them. */
  onWrite: () => void
  url: string
  /** Called at each event of a run. */
  onProgress: OnProgress
  /** Requests to Kafka, and manifests that were read, since the last call. */
  countRequests(): { kafka: Record<string, number>; manifests: number }
  run(registry?: object, restore?: object): Promise<BackupRestoreReport>
  prepare(count: number, registry?: object, restore?: object): Promise<PreparedRestore>
  /** `1/4` is the second of four. */
  shard(which: string, registry?: object, restore?: object): Promise<RestoreShardReport>
  finish(registry?: object, restore?: object): Promise<BackupRestoreReport>
  dryRun(registry?: object, restore?: object, probe?: Probe): Promise<BackupRestoreDryRun>
  compare(registry?: object, restore?: object): Promise<CompareReport>
}

/** A backup of these topics and this registry, and a target with no topics and a registry that holds something else. */
export async function withSchemaTarget(
  backup: { topics: FakeTopic[]; schemas: RegistrySnapshot },
  start: RegistrySnapshot,
  work: (target: SchemaTarget) => Promise<void>,
): Promise<void> {
  let path = ''
  const { storage, close } = await openTemporary(folder => {
    path = folder
    return openFilesystemStorage({ path: folder })
  })
  const registry = new RegistryStore({}, start)
  const writes: string[] = []
  let opened: SchemaTarget | undefined
  const onRequest = ({ method, target }: { method: string; target: string }) => {
    if (method === 'GET') return
    writes.push(`${method} ${target}`)
    opened?.onWrite()
  }
  const server = await openRegistryServer({ store: registry, host: '127.0.0.1', port: 0, onRequest })
  try {
    await withFakeTarget(
      backup.topics,
      async target => {
        const jobOf = (schemas: object, restore: object) => {
          const document = {
            mode: 'restore',
            backup_id: 'b1',
            target: { bootstrap_servers: target.fake.brokers.map(({ address }) => address) },
            storage: { backend: 'filesystem', path },
            restore: { replication_factor: 1, retention: 'apply', ...restore },
            enterprise: { schema_registry: { enabled: true, url: server.url, restore: schemas } },
          }
          return parseJob(JSON.stringify(document), { source: 'test', env: {}, mode: 'restore' })
        }
        const asked: string[] = []
        const read: string[] = []
        const hooks: Hooks = {
          onProgress: event => opened?.onProgress(event),
          onRequest: name => asked.push(name),
          onStorageCall: ({ operation, key }) => {
            if (operation === 'read') read.push(key)
          },
        }
        opened = {
          ...{ kafka: target, storage, registry, writes, onWrite: () => undefined },
          ...{ url: server.url, onProgress: () => undefined },
          countRequests: () => {
            const byName = Map.groupBy(asked.splice(0), name => name)
            const manifests = read.splice(0).filter(key => /manifest/.test(key)).length
            return { kafka: Object.fromEntries([...byName].map(([name, some]) => [name, some.length])), manifests }
          },
          run: (schemas = {}, restore = {}) => runRestoreJob(jobOf(schemas, restore), hooks, never),
          prepare: (count, schemas = {}, restore = {}) =>
            prepareRestoreJob(jobOf(schemas, restore), count, hooks, never),
          shard: (which, schemas = {}, restore = {}) => {
            const [index = 0, count = 1] = which.split('/').map(Number)
            return restoreShardJob(jobOf(schemas, restore), { shard: { index, count } }, hooks, never)
          },
          finish: (schemas = {}, restore = {}) => finishRestoreJob(jobOf(schemas, restore), hooks, never),
          dryRun: (schemas = {}, restore = {}, probe = undefined) =>
            dryRunRestoreJob(jobOf(schemas, restore), never, probe),
          compare: (schemas = {}, restore = {}) => compareJob(jobOf(schemas, restore), hooks, never),
        }
        await work(opened)
      },
      storage,
      backup.schemas,
    )
  } finally {
    await server.close()
    await close()
  }
}

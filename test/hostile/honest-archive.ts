import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { newestState } from '../../src/archive/catalog.ts'
import { commitState } from '../../src/archive/log/commit-state.ts'
import { sealJson } from '../../src/archive/seal.ts'
import { main } from '../../src/cli/main.ts'
import { openRegistryServer } from '../../src/registry/serve/open-registry-server.ts'
import { RegistryStore } from '../../src/registry/serve/registry-store.ts'
import { draftManifest, never } from '../archive/sample-archive.ts'
import { append as appendTo, play } from '../backup/continuous-scene.ts'
import { FakeIo } from '../cli/fake-io.ts'
import { encodeRun } from '../fakes/batches.ts'
import { type FakeState, type FakeTopic, fakeTopic, startFakeCluster } from '../fakes/fake-cluster.ts'
import { fakeGroup, serveGroups } from '../fakes/fake-groups.ts'
import { snapshotOf, versionOf } from '../fakes/registry-snapshots.ts'
import { openLocation } from '../open-location.ts'

/** All objects of a location, by key. */
export type Objects = Map<string, Buffer>

export interface HonestArchive {
  objects: Objects
  /** The text of the key that opens the encrypted backup. */
  keyFile: string
}

export const PLAIN = 'plain'
export const OTHER = 'other'
export const SEALED = 'sealed'
export const LOG = 'log'
export const SNAPSHOT = '20260101t000000z-00000000'

/**
 * What the program itself writes, before anybody changes it: the backup `plain` with two generations, its consumer groups,
 * schemas and an offset snapshot, the small backup `other`, the encrypted backup `sealed`, and the backup `log` of version 2.
 */
export async function makeHonestArchive(): Promise<HonestArchive> {
  const folder = mkdtempSync(join(tmpdir(), 'honest-'))
  const topics = sourceTopics()
  const cluster = await startFakeCluster(topics)
  serveGroups(cluster, { billing: fakeGroup({ 'orders/0': 3n, 'orders/1': 1n }) })
  const registry = await openRegistryServer({ store: sourceRegistry(), host: '127.0.0.1', port: 0 })
  const keyFile = randomBytes(32).toString('base64')
  try {
    const bootstrap = cluster.brokers.map(({ address }) => address)
    const backup = (id: string, more: object) => run(folder, backupJob(folder, id, bootstrap, more), ['backup'])
    const schemas = { enterprise: { schema_registry: { enabled: true, url: registry.url } } }
    writeFileSync(join(folder, 'key'), keyFile, { mode: 0o600 })
    const encryption = { encryption: { recipients: [{ key_file: join(folder, 'key') }] } }
    await backup(PLAIN, schemas)
    await backup(OTHER, {})
    await backup(SEALED, { ...schemas, ...encryption })
    append(topics)
    await backup(PLAIN, schemas)
    await backup(SEALED, { ...schemas, ...encryption })
    const place = ['--bootstrap-server', bootstrap.join(), '--path', join(folder, 'store')]
    await runMain(['offsets', 'snapshot', ...place])
    await writeLog(join(folder, 'store'))
    return { objects: renameSnapshot(readFolder(join(folder, 'store'))), keyFile }
  } finally {
    await registry.close()
    await cluster.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Rounds of a continuous run that roll up commits, a checkpoint, and some more. */
async function writeLog(path: string): Promise<void> {
  const storage = openLocation(path)
  const topics = sourceTopics()
  let next = 1
  const grow = (state: FakeState) => appendTo(state, 1, [encodeRun(BigInt(10 * next++), 10)])
  const options = { backupId: LOG, beginsLog: true, compression: 'auto' as const }
  const scene = { storage, options, topics: [...topics, fakeTopic('busy', [[encodeRun(0n, 10)]])].slice(1) }
  await play({ ...scene, between: Array.from({ length: 10 }, () => grow), name: 'first' })
  const base = await newestState(storage, LOG, never)
  const manifest = base.manifest ?? draftManifest([])
  const own = { newRun: () => 'check', nowMs: Date.now, isCheckpoint: true }
  await commitState(storage, base, { ...manifest, run: 'check' }, own, never)
  await play({ ...scene, between: Array.from({ length: 2 }, () => grow), name: 'second' })
}

export function sourceTopics(): FakeTopic[] {
  return [
    fakeTopic('orders', [[encodeRun(0n, 5), encodeRun(5n, 5, { codec: 'zstd' })], [encodeRun(0n, 3)]]),
    fakeTopic('audit', [[encodeRun(0n, 4)]]),
  ]
}

export function append(topics: FakeTopic[]): void {
  const log = topics[0]?.partitions[0]
  if (!log) return
  log.batches.push(encodeRun(10n, 5))
  log.highWatermark = 15n
  log.lastStable = 15n
}

function sourceRegistry(): RegistryStore {
  const versions = [
    versionOf('address', 1, 1),
    versionOf('orders-value', 1, 2, { refs: ['address@1'] }),
    versionOf('orders-value', 2, 3, { refs: ['address@1'] }),
    versionOf(':.eu:orders-value', 1, 1),
  ]
  return new RegistryStore({}, snapshotOf(versions, { contexts: ['.', '.eu'] }))
}

function backupJob(folder: string, backup_id: string, bootstrap_servers: string[], more: object): object {
  return {
    mode: 'backup',
    backup_id,
    source: { bootstrap_servers, topics: { include: ['*'] } },
    storage: { backend: 'filesystem', path: join(folder, 'store') },
    backup: { consumer_groups: { include: ['*'] } },
    ...more,
  }
}

async function run(folder: string, job: object, command: string[]): Promise<void> {
  const path = join(folder, 'job.yaml')
  writeFileSync(path, JSON.stringify(job))
  await runMain([...command, '--config', path])
}

async function runMain(argv: string[]): Promise<void> {
  const io = new FakeIo()
  const exitCode = await main(argv, io)
  if (exitCode !== 0) throw new Error(`${argv.join(' ')} ended with ${exitCode}: ${io.stderr.text}`)
}

/** Snapshots are named by time and chance; the corpus wants a name that it can write down. */
function renameSnapshot(objects: Objects): Objects {
  for (const [key, bytes] of [...objects]) {
    const [, name] = /^offset-snapshots\/(.+)\.json$/.exec(key) ?? []
    if (name === undefined) continue
    objects.delete(key)
    const { checksum: _, ...document } = JSON.parse(bytes.toString('utf8'))
    objects.set(`offset-snapshots/${SNAPSHOT}.json`, sealJson({ ...document, snapshot_id: SNAPSHOT }))
  }
  return objects
}

export function readFolder(folder: string): Objects {
  return new Map(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(entry => join(entry.parentPath, entry.name))
      .sort()
      .map(path => [path.slice(folder.length + 1), readFileSync(path)]),
  )
}

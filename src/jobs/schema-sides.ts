import type { Manifest } from '../archive/manifest.ts'
import { warnOfAvoided } from '../archive/record-warnings.ts'
import type { RegistrySnapshot } from '../archive/registry-model.ts'
import type { GenerationChoice } from '../archive/select-generation.ts'
import type { ClusterlessJob, SchemaRestoreJob } from '../config/load-job.ts'
import { KafkaBackupError } from '../errors.ts'
import type { OnProgress } from '../observe/progress.ts'
import type { RegistryOptions } from '../registry/client/client-options.ts'
import type { Selection } from '../registry/client/select-versions.ts'
import type { NamedSnapshot } from '../registry/schema-listing.ts'
import { parseLocation, type StorageOptions } from '../storage/location.ts'
import type { Storage } from '../storage/storage.ts'
import { type GivenKeys, keysOf, type PlaceKeys } from './encryption.ts'
import { openExistingStorage } from './parts.ts'
import { type RegistryJob, registryOf, registryOptions, selectionOf } from './registry.ts'

/** Something that holds schemas. */
export type SchemaSide =
  | ({ kind: 'backup'; storage: StorageOptions; backupId: string } & GenerationChoice & PlaceKeys)
  | { kind: 'registry'; options: RegistryOptions; selection: Partial<Selection> }

/** The backup of a job, or another one at the same location. */
export function jobBackupSide(
  job: ClusterlessJob & PlaceKeys,
  backupId = job.backupId,
  generation?: number,
): SchemaSide {
  const { generation: requested, asOfMs } = job.mode === 'restore' ? job.restore : {}
  const asOf = generation === undefined && asOfMs !== undefined && { asOfMs }
  return {
    kind: 'backup',
    storage: job.storage,
    backupId,
    generation: generation ?? requested,
    ...asOf,
    ...keysOf(job),
  }
}

export function locatedSide(path: string, backupId: string, generation?: number, keys: GivenKeys = {}): SchemaSide {
  return { kind: 'backup', storage: parseLocation(path), backupId, generation, ...keysOf(keys) }
}

/** The registry of a job. A job that makes backups looks at what it takes, one that restores at all that is there. */
export function jobRegistrySide(job: ClusterlessJob): SchemaSide {
  const registry = requireRegistry(job)
  const selection = job.mode === 'backup' ? selectionOf(registry) : {}
  return { kind: 'registry', options: registryOptions(registry), selection }
}

/** All of a registry without a login; several addresses with commas. `what` names it in a complaint. */
export function urlSide(text: string, what = 'registry'): SchemaSide {
  const urls = text.split(',').map(url => url.trim())
  if (urls.every(url => /^https?:\/\/[^/]/i.test(url) && URL.canParse(url))) {
    return { kind: 'registry', options: { urls }, selection: {} }
  }
  // It is not shown, because it may contain a password.
  throw new KafkaBackupError('USAGE', `${what} is not an address: give one such as http://localhost:8081`)
}

/** A side, and the job that it comes from. */
export interface ChosenSide {
  side: SchemaSide
  job?: ClusterlessJob
}

/** What a restore brings to a registry has the names that its job gives; two looks at that registry have them both. */
export function restoredBy(left: ChosenSide, { job, side }: ChosenSide): { restoredBy?: SchemaRestoreJob } {
  const isTarget = left.side.kind === 'registry' && left.job?.mode === 'restore'
  return job?.mode === 'restore' && side.kind === 'registry' && !isTarget ? { restoredBy: job } : {}
}

export function requireRegistry(job: Pick<ClusterlessJob, 'enterprise'>): RegistryJob {
  const registry = registryOf(job)
  if (registry) return registry
  throw new KafkaBackupError('CONFIG_INVALID', 'enterprise.schema_registry.enabled is not true in this job', {
    details: { field: 'enterprise.schema_registry.enabled' },
    help: 'Set it to true, and `enterprise.schema_registry.url` to the address of the registry.',
  })
}

/** Everything that a side holds. Nothing is changed. */
export async function readSide(side: SchemaSide, onProgress: OnProgress, signal: AbortSignal): Promise<NamedSnapshot> {
  if (side.kind === 'registry') return readRegistrySide(side, signal)
  const storage = await openExistingStorage(side, signal)
  try {
    const { name, read } = await findBackedUp(storage, side, onProgress, signal)
    return { name, snapshot: await read() }
  } finally {
    await storage.close()
  }
}

interface BackedUp {
  name: string
  generation: number
  read: () => Promise<RegistrySnapshot>
}

/** A generation with schemas, which `read` reads. */
export async function findBackedUp(
  storage: Storage,
  { backupId, ...choice }: { backupId: string } & GenerationChoice,
  onProgress: OnProgress,
  signal: AbortSignal,
): Promise<BackedUp> {
  const [{ readSelected }, { readRegistryAt }] = await Promise.all([
    import('../restore/find-restore.ts'),
    import('../archive/registry-at.ts'),
  ])
  const manifest = await readSelected(storage, backupId, choice, signal)
  warnOfAvoided(manifest, onProgress)
  const name = `generation ${manifest.generation} of the backup ${backupId} at ${storage.location}`
  const nothing = () => new KafkaBackupError('SCHEMAS_NOT_FOUND', `${name} holds no schemas`)
  if (!manifest.schema_registry) throw nothing()
  // It lists every version: it must not stay in memory while they are restored.
  let unread: Manifest | undefined = manifest
  const read = async () => {
    const snapshot = unread && (await readRegistryAt(storage, unread, signal))
    unread = undefined
    if (!snapshot) throw nothing()
    return snapshot
  }
  return { name, generation: manifest.generation, read }
}

async function readRegistrySide(
  { options, selection }: Extract<SchemaSide, { kind: 'registry' }>,
  signal: AbortSignal,
): Promise<NamedSnapshot> {
  const [{ openRegistryClient }, { readSnapshot }] = await Promise.all([
    import('../registry/client/client.ts'),
    import('../registry/client/read-snapshot.ts'),
  ])
  const client = await openRegistryClient(options)
  try {
    return { name: `registry ${client.name}`, snapshot: await readSnapshot(client, selection, signal) }
  } finally {
    client.close()
  }
}

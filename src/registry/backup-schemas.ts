import { type NewestState, newestState } from '../archive/catalog.ts'
import { shardsPrefix } from '../archive/layout.ts'
import { commitState } from '../archive/log/commit-state.ts'
import type { ArchiveEncryption, Manifest } from '../archive/manifest.ts'
import { renewCopies, renewRegistryCopies } from '../archive/newest-copies.ts'
import { readJson } from '../archive/read-registry.ts'
import type { RegistrySnapshot } from '../archive/registry-model.ts'
import { hasCarriedSchemas, type RegistrySection, registrySettingsSchema } from '../archive/registry-section.ts'
import { writeRegistry } from '../archive/write-registry.ts'
import { KafkaBackupError } from '../errors.ts'
import { type Clock, formatUtc } from '../lib/clock.ts'
import { formatJson } from '../lib/json.ts'
import type { OnProgress } from '../observe/progress.ts'
import type { Storage } from '../storage/storage.ts'

interface SchemaBackupParts {
  storage: Storage
  clock: Clock
  /** A short random name, another one at each call. */
  newRun: () => string
  readRegistry: (signal: AbortSignal) => Promise<RegistrySnapshot>
  /** How what is written is encrypted; absent where it is not. */
  encryption?: ArchiveEncryption | undefined
  toolVersion: string
  onProgress: OnProgress
  /** Fails where the lease on the backup was not renewed in time: it may have been removed since. */
  assertHeld?: () => void | Promise<void>
}

export interface SchemaBackupReport {
  backupId: string
  /** The newest one: that which was committed, or the one before where nothing has changed. */
  generation: number
  /** The registry is not as the generation before had it. */
  isChanged: boolean
  subjects: number
  versions: number
  /** Topics of the generation before, which stay in the backup as they were. */
  topics: number
  warnings: string[]
  durationMs: number
}

/**
 * Reads a registry and commits it with the topics as the newest generation has them; a first one has none. A registry that
 * is as it was makes no generation, unless the newest one does not know that.
 */
export async function backupSchemas(
  backupId: string,
  parts: SchemaBackupParts,
  signal: AbortSignal,
): Promise<SchemaBackupReport> {
  const { storage, clock, onProgress } = parts
  const startedMs = clock.monotonic()
  const startedAt = formatUtc(clock.now())
  const base = await newestState(storage, backupId, signal)
  const previous = base.manifest
  const generation = (previous?.generation ?? 0) + 1
  const snapshot = await parts.readRegistry(signal)
  const { warnings } = snapshot
  onProgress({ type: 'schemas_read', subjects: snapshot.subjects.size, versions: snapshot.versions.length })
  for (const message of warnings) onProgress({ type: 'warning', message })
  const run = parts.newRun()
  const { encryption } = parts
  const place = { backupId, generation, run, previous: previous?.schema_registry, folderOf: encryption?.folderOf }
  const registry = await writeRegistry(storage, snapshot, place, signal)
  const isChanged = !isSame(previous?.schema_registry, registry)
  const isCommitted = isChanged || (previous !== undefined && hasCarriedSchemas(previous))
  if (isCommitted) {
    await refuseWaitingShards(storage, backupId, generation, signal)
    const head = { tool_version: parts.toolVersion, backup_id: backupId, generation, run, started_at: startedAt }
    const kept = await keepOf(previous, storage, signal)
    const sealed = encryption && { encryption: encryption.section }
    const made = { ...head, created_at: formatUtc(clock.now()), ...kept, schema_registry: registry, ...sealed }
    await commit(parts, base, { ...made, warnings: [...kept.warnings, ...warnings] }, signal)
  } else if (previous) {
    // A run that died right after its commit has left the copies of an older state.
    const stale = await renewRegistryCopies(storage, previous, signal)
    if (stale !== undefined) onProgress({ type: 'warning', message: stale })
  }
  return {
    backupId,
    generation: isCommitted ? generation : generation - 1,
    isChanged,
    subjects: snapshot.subjects.size,
    versions: snapshot.versions.length,
    topics: previous?.topics.length ?? 0,
    warnings: [...warnings],
    durationMs: clock.monotonic() - startedMs,
  }
}

/** Shards are for the next generation: were it made without them, what they have copied would be in none. */
async function refuseWaitingShards(
  storage: Storage,
  backupId: string,
  generation: number,
  signal: AbortSignal,
): Promise<void> {
  for await (const { key } of storage.list(shardsPrefix(backupId, generation), signal)) {
    const message = `${key} waits to be committed as a part of generation ${generation} of backup \`${backupId}\``
    const help =
      'Run `backup --commit`, which takes the schemas too, or remove the shards that you no longer need, then run again.'
    throw new KafkaBackupError('WRITER_CONFLICT', message, { help })
  }
}

/** The time of reading is not a change. */
function isSame(before: RegistrySection | undefined, now: RegistrySection): boolean {
  const content = (section: RegistrySection) => formatJson({ ...section, backup_timestamp: '' })
  return before !== undefined && content(before) === content(now)
}

type Kept = Pick<
  Manifest,
  | 'complete'
  | 'cluster'
  | 'selection'
  | 'topics'
  | 'warnings'
  | 'consumer_groups'
  | 'access'
  | 'carried_sections'
  | 'topic_settings_at'
  | 'lineage'
>

/** What the generation before says of topics, of their groups and of who may do what. Its warnings about schemas are those of an older reading, and go. */
async function keepOf(previous: Manifest | undefined, storage: Storage, signal: AbortSignal): Promise<Kept> {
  if (!previous) {
    const selection = { include: [], exclude: [] }
    return { complete: true, cluster: { id: null, brokers: 0 }, selection, topics: [], warnings: [] }
  }
  const { backup_id, complete, cluster, selection, topics, schema_registry } = previous
  const { consumer_groups, access, lineage } = previous
  const settings =
    schema_registry && (await readJson(storage, backup_id, schema_registry.settings, registrySettingsSchema, signal))
  const older = new Set(settings?.warnings)
  const sections = { ...(consumer_groups && { consumer_groups }), ...(access && { access }) }
  const kept = { ...sections, ...(lineage && { lineage }), ...keepAges(previous) }
  return { complete, cluster, selection, topics, ...kept, warnings: previous.warnings.filter(one => !older.has(one)) }
}

/** The other sections are as old as they were. */
function keepAges({ carried_sections = [], topic_settings_at }: Manifest): Partial<Kept> {
  const others = carried_sections.filter(name => name !== 'schema_registry')
  return {
    ...(others.length > 0 && { carried_sections: others }),
    ...(topic_settings_at !== undefined && { topic_settings_at }),
  }
}

async function commit(
  { storage, onProgress, assertHeld, newRun, clock }: SchemaBackupParts,
  base: NewestState,
  manifest: Omit<Manifest, 'format' | 'format_version'>,
  signal: AbortSignal,
): Promise<void> {
  const onWarning = (message: string) => onProgress({ type: 'warning', message })
  const own = { newRun, nowMs: () => clock.now(), confirm: async () => await assertHeld?.(), onWarning }
  const committed = await commitState(storage, base, manifest, own, signal)
  for (const message of await renewCopies(storage, committed, signal)) onProgress({ type: 'warning', message })
  onProgress({ type: 'committed', generation: committed.generation, complete: committed.complete })
}

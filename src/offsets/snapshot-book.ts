import { hasCode, KafkaBackupError } from '../errors.ts'
import { type Clock, formatUtc } from '../lib/clock.ts'
import type { Storage } from '../storage/storage.ts'
import { decodeSnapshot, encodeSnapshot, type OffsetSnapshot } from './snapshot.ts'

const FOLDER = 'offset-snapshots'

export interface BookParts {
  storage: Storage
  clock: Clock
  newRun: () => string
  toolVersion: string
  /** The one object to write to and read from, for a snapshot in a file of its own. */
  file?: string
}

export interface ListedSnapshot {
  snapshotId: string
  key: string
  /** Undefined where it cannot be read. */
  snapshot?: OffsetSnapshot
  error?: KafkaBackupError
}

/** The snapshots at a location. Each is written once and never changed; removing one is all that can be done to it. */
export class SnapshotBook {
  readonly #parts: BookParts

  constructor(parts: BookParts) {
    this.#parts = parts
  }

  get location(): string {
    return this.#parts.storage.location
  }

  /** Durable when it returns. */
  async write(
    content: Pick<OffsetSnapshot, 'reason' | 'cluster_id' | 'groups'>,
    signal: AbortSignal,
  ): Promise<OffsetSnapshot> {
    const { clock, newRun, toolVersion, storage } = this.#parts
    const createdAt = formatUtc(clock.now())
    const stamp = createdAt
      .replaceAll(/[-:]/g, '')
      .replace(/\.\d+Z$/, 'Z')
      .toLowerCase()
    const snapshot: OffsetSnapshot = {
      format: 'kafka-backup-offset-snapshot',
      format_version: 1,
      tool_version: toolVersion,
      snapshot_id: `${stamp}-${newRun()}`,
      created_at: createdAt,
      ...content,
    }
    await storage.create(this.#keyOf(snapshot.snapshot_id), encodeSnapshot(snapshot), signal)
    return snapshot
  }

  async read(snapshotId: string, signal: AbortSignal): Promise<OffsetSnapshot> {
    const key = this.#keyOf(snapshotId)
    try {
      const snapshot = decodeSnapshot(await this.#parts.storage.read(key, signal), key)
      if (this.#parts.file !== undefined || snapshot.snapshot_id === snapshotId) return snapshot
      throw new KafkaBackupError('ARCHIVE_DAMAGED', `${key} holds the snapshot ${snapshot.snapshot_id}`)
    } catch (error) {
      throw hasCode(error, 'STORAGE_NOT_FOUND') ? this.#unknown(snapshotId, error) : error
    }
  }

  /** Newest first; one that cannot be read is among them, with the reason. */
  async list(signal: AbortSignal): Promise<ListedSnapshot[]> {
    const listed: ListedSnapshot[] = []
    for await (const { key } of this.#parts.storage.list(FOLDER, signal)) {
      const snapshotId = /^offset-snapshots\/([^/]+)\.json$/.exec(key)?.[1]
      if (snapshotId === undefined) continue
      try {
        listed.push({ snapshotId, key, snapshot: await this.read(snapshotId, signal) })
      } catch (error) {
        if (!(error instanceof KafkaBackupError) || signal.aborted) throw error
        listed.push({ snapshotId, key, error })
      }
    }
    return listed.sort((a, b) => (a.snapshotId < b.snapshotId ? 1 : -1))
  }

  /** Fails where there is none: a mistyped name must not look like a success. A file goes only where it is a snapshot. */
  async remove(snapshotId: string, signal: AbortSignal): Promise<void> {
    const key = this.#keyOf(snapshotId)
    if (!(await this.#parts.storage.stat(key, signal))) throw this.#unknown(snapshotId)
    if (this.#parts.file !== undefined) await this.read(snapshotId, signal)
    await this.#parts.storage.remove(key, signal)
  }

  #keyOf(snapshotId: string): string {
    const { file } = this.#parts
    if (file !== undefined) return file
    if (/^[\w.-]+$/.test(snapshotId)) return `${FOLDER}/${snapshotId}.json`
    throw new KafkaBackupError('USAGE', `${JSON.stringify(snapshotId)} is not a valid snapshot name`)
  }

  #unknown(snapshotId: string, cause?: unknown): KafkaBackupError {
    const what = this.#parts.file ?? `offset snapshot ${snapshotId}`
    return new KafkaBackupError('STORAGE_NOT_FOUND', `there is no ${what} at ${this.location}`, {
      cause,
      help: '`kafka-backup offsets snapshots` shows those that are there.',
    })
  }
}

import { damaged, unlessMissing } from '../archive/damage.ts'
import { hasCode, KafkaBackupError } from '../errors.ts'
import { type Clock, formatUtc } from '../lib/clock.ts'
import type { Storage } from '../storage/storage.ts'
import { decodeSnapshot, encodeSnapshot, findUnreadable, type OffsetSnapshot } from './snapshot.ts'

const FOLDER = 'offset-snapshots'

/** Encrypts snapshots at a location; without keys it leaves them plain. */
interface Vault {
  /** Whether snapshots are encrypted here, so that a plain one may be forged. */
  readonly isExpected: boolean
  seal(key: string, plain: Buffer, signal: AbortSignal): Promise<Buffer>
  open(key: string, stored: Buffer, signal: AbortSignal): Promise<{ bytes: Buffer; isEncrypted: boolean }>
}

export interface BookParts {
  storage: Storage
  clock: Clock
  newRun: () => string
  toolVersion: string
  /** The object of a snapshot in a separate file. */
  file?: string
  /** Without it snapshots are plain, as in a file of the user. */
  vault?: Vault
  /** A plain snapshot is read also where it should be encrypted. */
  acceptsPlain?: boolean
  /** Called where a snapshot is written or read plain because no key was given. */
  onPlain?: (key: string, signal: AbortSignal) => Promise<void>
}

export interface ListedSnapshot {
  snapshotId: string
  key: string
  /** Undefined where it cannot be read. */
  isEncrypted?: boolean
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

  /** Durable when it returns. Without an ID it gets a new one. */
  async write(
    content: Pick<OffsetSnapshot, 'reason' | 'cluster_id' | 'groups' | 'topics'>,
    signal: AbortSignal,
    snapshotId?: string,
  ): Promise<OffsetSnapshot> {
    const { clock, newRun, toolVersion, storage, vault, onPlain } = this.#parts
    const createdAt = formatUtc(clock.now())
    const stamp = createdAt
      .replaceAll(/[-:]/g, '')
      .replace(/\.\d+Z$/, 'Z')
      .toLowerCase()
    const snapshot: OffsetSnapshot = {
      format: 'kafka-backup-offset-snapshot',
      format_version: 1,
      tool_version: toolVersion,
      snapshot_id: snapshotId ?? `${stamp}-${newRun()}`,
      created_at: createdAt,
      ...content,
    }
    const key = this.#keyOf(snapshot.snapshot_id)
    const plain = encodeReadable(snapshot)
    await storage.create(key, vault ? await vault.seal(key, plain, signal) : plain, signal)
    if (!vault?.isExpected) await onPlain?.(key, signal)
    return snapshot
  }

  /** To act on. Refuses a plain snapshot where it should be encrypted: any writer to the store could have put it there. */
  async read(snapshotId: string, signal: AbortSignal): Promise<OffsetSnapshot> {
    const { vault, acceptsPlain = false, onPlain } = this.#parts
    const { snapshot, isEncrypted, key } = await this.#open(snapshotId, signal)
    if (isEncrypted) return snapshot
    if (vault?.isExpected && !acceptsPlain) throw plainRefused(key, this.location)
    if (!vault?.isExpected) await onPlain?.(key, signal)
    return snapshot
  }

  /** Like `read`; undefined where there is none. */
  find(snapshotId: string, signal: AbortSignal): Promise<OffsetSnapshot | undefined> {
    return unlessMissing(this.read(snapshotId, signal))
  }

  /** Newest first; one that cannot be read is among them, with the reason. */
  async list(signal: AbortSignal): Promise<ListedSnapshot[]> {
    const listed: ListedSnapshot[] = []
    for await (const { key } of this.#parts.storage.list(FOLDER, signal)) {
      const snapshotId = /^offset-snapshots\/([^/]+)\.json$/.exec(key)?.[1]
      if (snapshotId === undefined) continue
      try {
        listed.push({ snapshotId, ...(await this.#open(snapshotId, signal)) })
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
    if (this.#parts.file !== undefined) await this.#open(snapshotId, signal)
    await this.#parts.storage.remove(key, signal)
  }

  async #open(
    snapshotId: string,
    signal: AbortSignal,
  ): Promise<{ key: string; snapshot: OffsetSnapshot; isEncrypted: boolean }> {
    const { storage, vault, file } = this.#parts
    const key = this.#keyOf(snapshotId)
    try {
      const stored = await storage.read(key, signal)
      const { bytes, isEncrypted } = vault
        ? await vault.open(key, stored, signal)
        : { bytes: stored, isEncrypted: false }
      const snapshot = decodeSnapshot(bytes, key)
      if (file !== undefined || snapshot.snapshot_id === snapshotId) return { key, snapshot, isEncrypted }
      throw damaged(key, `holds the snapshot ${snapshot.snapshot_id}`)
    } catch (error) {
      throw hasCode(error, 'STORAGE_NOT_FOUND') ? this.#unknown(snapshotId, error) : error
    }
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
      help: '`kafka-backup offsets snapshots` lists the snapshots.',
    })
  }
}

/** A snapshot that cannot be read again cannot be rolled back to: the broker reported something that no reader accepts. */
function encodeReadable(snapshot: OffsetSnapshot): Buffer {
  const why = findUnreadable(snapshot)
  if (why === undefined) return encodeSnapshot(snapshot)
  throw new KafkaBackupError('OFFSETS_REFUSED', `no snapshot can be written, so nothing is changed: ${why}`, {
    help: 'The cluster reports something that Kafka does not allow. Select the other groups with `--group`.',
  })
}

function plainRefused(key: string, location: string): KafkaBackupError {
  const message = `${key} at ${location} is not encrypted, but keys are given: anyone who can write there could have put it there`
  return new KafkaBackupError('ENCRYPTION_MISMATCH', message, {
    help: 'If it was taken before encryption was set up, or without a key, pass `--accept-plain-snapshot` (`acceptPlainSnapshot` in Kubernetes), with `--dry-run` first.',
  })
}

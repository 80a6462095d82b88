import { createHash } from 'node:crypto'
import { hasCode, KafkaBackupError } from '../errors.ts'
import type { ObjectWriter, Storage } from '../storage/storage.ts'

/** A finished file. */
export interface ExportedFile {
  name: string
  topic: string
  records: number
  bytes: number
  sha256: string
}

/** Where files go. An existing one is replaced only if that is asked for. */
export interface ExportTarget {
  storage: Storage
  overwrites: boolean
}

const WRITTEN_BYTES = 1 << 20

/** A file that appears under its name when it is complete. */
export class ExportFile {
  records = 0
  readonly #name: string
  readonly #target: ExportTarget
  readonly #writer: ObjectWriter
  readonly #hash = createHash('sha256')
  #held: Buffer[] = []
  #heldBytes = 0
  #bytes = 0

  private constructor(name: string, target: ExportTarget, writer: ObjectWriter) {
    this.#name = name
    this.#target = target
    this.#writer = writer
  }

  static async open(name: string, target: ExportTarget, signal: AbortSignal): Promise<ExportFile> {
    await refuseExisting(name, target, signal)
    return new ExportFile(name, target, await target.storage.openWriter(name, signal))
  }

  async write(bytes: Buffer, signal: AbortSignal): Promise<void> {
    if (bytes.length === 0) return
    this.#held.push(bytes)
    this.#heldBytes += bytes.length
    if (this.#heldBytes >= WRITTEN_BYTES) await this.#flush(signal)
  }

  async commit(topic: string, signal: AbortSignal): Promise<ExportedFile> {
    await this.#flush(signal)
    const { storage, overwrites } = this.#target
    if (overwrites) await storage.remove(this.#name, signal)
    try {
      await this.#writer.commit(signal)
    } catch (error) {
      throw hasCode(error, 'STORAGE_EXISTS') ? existing(this.#name, storage) : error
    }
    const sha256 = this.#hash.digest('hex')
    return { name: this.#name, topic, records: this.records, bytes: this.#bytes, sha256 }
  }

  /** Leaves nothing behind. */
  abort(): Promise<void> {
    return this.#writer.abort()
  }

  async #flush(signal: AbortSignal): Promise<void> {
    const chunks = this.#held
    this.#held = []
    this.#bytes += this.#heldBytes
    this.#heldBytes = 0
    for (const chunk of chunks) this.#hash.update(chunk)
    if (chunks.length > 0) await this.#writer.write(chunks, signal)
  }
}

/** Before hours of work, not after them. */
export async function refuseExisting(
  name: string,
  { storage, overwrites }: ExportTarget,
  signal: AbortSignal,
): Promise<void> {
  if (!overwrites && (await storage.stat(name, signal))) throw existing(name, storage)
}

function existing(name: string, { location }: Storage): KafkaBackupError {
  return new KafkaBackupError('STORAGE_EXISTS', `the file ${name} exists already in ${location}`, {
    details: { key: name, location },
    help: 'Export to another folder, or replace existing files with `--overwrite`.',
  })
}

import { createHash } from 'node:crypto'
import type { ShownRecord } from '../inspect/print-format.ts'
import { type ExportedFile, ExportFile, type ExportTarget } from './export-file.ts'
import type { ExportTally } from './export-tally.ts'
import type { RecordEncoder } from './record-encoder.ts'

/** Which file of its topic a record goes to. */
export interface FileChoice {
  /** What follows the name of the topic, such as `.csv`. */
  suffix: string
  open: () => RecordEncoder
}

export type ChooseFile = (shown: ShownRecord) => FileChoice

/** Writes the records of one topic after the other. A file is complete when its topic is. */
export async function exportTopics(
  records: AsyncIterable<ShownRecord>,
  choose: ChooseFile,
  target: ExportTarget,
  tally: ExportTally,
  signal: AbortSignal,
): Promise<void> {
  let files: TopicFiles | undefined
  const names = new FileNames()
  try {
    for await (const shown of records) {
      const { topic } = shown.record
      if (files?.topic !== topic) {
        await files?.close(tally, signal)
        files = new TopicFiles(topic, target, names)
      }
      await files.add(shown, choose(shown), tally, signal)
      tally.add(shown)
    }
    await files?.close(tally, signal)
  } catch (error) {
    await files?.abort()
    throw error
  }
}

/** A topic may have a file for each of its schemas; of many, the one that was not used for the longest time is completed. */
const MAX_OPEN = 32

interface OpenFile {
  file: ExportFile
  encoder: RecordEncoder
}

class TopicFiles {
  readonly topic: string
  readonly #target: ExportTarget
  /** By suffix, the last used one at the end. */
  readonly #open = new Map<string, OpenFile>()
  /** How many files of a suffix there are. */
  readonly #parts = new Map<string, number>()
  /** Of the files of all topics. */
  readonly #names: FileNames

  constructor(topic: string, target: ExportTarget, names: FileNames) {
    this.topic = topic
    this.#target = target
    this.#names = names
  }

  async add(shown: ShownRecord, choice: FileChoice, tally: ExportTally, signal: AbortSignal): Promise<void> {
    const { suffix } = choice
    const found = this.#open.get(suffix) ?? (await this.#openFile(choice, tally, signal))
    this.#open.delete(suffix)
    this.#open.set(suffix, found)
    found.file.records++
    await found.file.write(found.encoder.add(shown), signal)
  }

  async close(tally: ExportTally, signal: AbortSignal): Promise<void> {
    for (const suffix of [...this.#open.keys()]) await this.#close(suffix, tally, signal)
  }

  async abort(): Promise<void> {
    for (const { file } of this.#open.values()) await file.abort()
  }

  async #openFile({ suffix, open }: FileChoice, tally: ExportTally, signal: AbortSignal): Promise<OpenFile> {
    const [oldest] = this.#open.keys()
    if (oldest !== undefined && this.#open.size >= MAX_OPEN) await this.#close(oldest, tally, signal)
    const name = this.#freeName(suffix)
    const opened = { file: await ExportFile.open(name, this.#target, signal), encoder: open() }
    this.#open.set(suffix, opened)
    await opened.file.write(opened.encoder.start(), signal)
    return opened
  }

  /** The next part of the suffix. A topic may be named like a part of another one, which must not be replaced. */
  #freeName(suffix: string): string {
    for (;;) {
      const part = (this.#parts.get(suffix) ?? 0) + 1
      this.#parts.set(suffix, part)
      const name = `${this.#names.ofTopic(this.topic)}${part === 1 ? '' : `.part-${part}`}${suffix}`
      if (this.#names.take(name)) return name
    }
  }

  async #close(suffix: string, tally: ExportTally, signal: AbortSignal): Promise<void> {
    const opened = this.#open.get(suffix)
    if (!opened) return
    await opened.file.write(opened.encoder.end(), signal)
    const done: ExportedFile = await opened.file.commit(this.topic, signal)
    this.#open.delete(suffix)
    tally.files.push(done)
  }
}

/** A file system takes 255 bytes, and a name of a topic may have 249; `.tmp-` is the beginning of unfinished files. */
const MAX_NAME = 200

/** The names of the files of an export. No two of them differ in case alone: on many file systems, that is the same file. */
export class FileNames {
  /** The beginning of the names of each topic, and whose it is. */
  readonly #topics = new Map<string, string>()
  readonly #files = new Set<string>()

  /** What the names of all files of a topic begin with. */
  ofTopic(topic: string): string {
    const name = fileNameOf(topic)
    const known = this.#topics.get(name.toLowerCase()) ?? topic
    this.#topics.set(name.toLowerCase(), known)
    return known === topic ? name : `${name}~${hashOf(topic)}`
  }

  /** False for a name that another file has. */
  take(name: string): boolean {
    const isFree = !this.#files.has(name.toLowerCase())
    this.#files.add(name.toLowerCase())
    return isFree
  }
}

function fileNameOf(topic: string): string {
  if (topic.length <= MAX_NAME && !topic.startsWith('.tmp-')) return topic
  return `${topic.replace(/^\./, '_').slice(0, MAX_NAME)}~${hashOf(topic)}`
}

function hashOf(topic: string): string {
  return createHash('sha256').update(topic).digest('hex').slice(0, 12)
}

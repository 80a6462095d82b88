import { createHash } from 'node:crypto'
import { KafkaBackupError } from '../errors.ts'
import { runPool } from '../lib/pool.ts'
import type { Storage } from '../storage/storage.ts'
import { hashOf } from './hash.ts'
import { currentRegistryPath, type FolderOf, registryFile, registryKey } from './layout.ts'
import { layOutRegistry, mappedId, type RegistryFile, type RegistryFiles, subjectsOf } from './registry-files.ts'
import type { RegistrySnapshot } from './registry-model.ts'
import { type RegistrySection, registryFilesOf, type StoredFile } from './registry-section.ts'
import { registryText } from './scalars.ts'

interface RegistryPlace {
  backupId: string
  /** The generation that is to name the objects, and the run that makes it. */
  generation: number
  run: string
  /** What the generation before says; objects that have not changed are named again, not written. */
  previous: RegistrySection | undefined
  folderOf?: FolderOf | undefined
}

const CONCURRENCY = 16

/**
 * Makes a snapshot durable and returns what the manifest says of it. Nothing counts before a manifest with it is there. An
 * object that did not change since the generation before is named again; any other is written below a folder of this run,
 * so that what earlier generations name is never touched. The copies under the plain names follow after the commit.
 */
export async function writeRegistry(
  storage: Storage,
  snapshot: RegistrySnapshot,
  place: RegistryPlace,
  signal: AbortSignal,
): Promise<RegistrySection> {
  assertStorable(snapshot)
  const files = layOutRegistry(snapshot, place.folderOf ?? chooseFolders(snapshot, place.previous))
  const previous = place.previous ? registryFilesOf(place.previous) : []
  const known = new Map(previous.map(file => [currentRegistryPath(file.file), file]))
  const written = await runPool(listFiles(files), CONCURRENCY, async file => {
    const stored = await storeFile(storage, file, known.get(file.path), place, signal)
    return [file.path, stored] as const
  })
  return sectionOf(snapshot, files, new Map(written))
}

/** A registry may answer with anything; what no reader accepts is not written. */
function assertStorable({ subjects, contexts, versions }: RegistrySnapshot): void {
  const references = versions.flatMap(one => one.references.flatMap(({ name, subject }) => [name, subject]))
  const names = [...subjects.keys(), ...contexts, ...versions.map(({ subject }) => subject), ...references]
  const long = names.find(name => !registryText.safeParse(name).success)
  if (long === undefined) return
  const message = `the registry has a name of ${long.length} characters, which begins with ${JSON.stringify(long.slice(0, 60))}`
  throw new KafkaBackupError('REGISTRY_PROTOCOL', message, {
    help: 'No known registry accepts such a name; check the log of the registry.',
  })
}

/** A subject of the generation before keeps its folder. */
function chooseFolders(snapshot: RegistrySnapshot, previous: RegistrySection | undefined): FolderOf {
  const known = (previous?.subjects ?? []).flatMap(({ name, metadata: { file } }) => {
    const folder = /\/subjects\/([^/]+)\/metadata\.json$/.exec(file)?.[1]
    return folder === undefined ? [] : [[name, folder] as const]
  })
  const folders = assignSubjectFolders(subjectsOf(snapshot), new Map(known))
  return subject => folders.get(subject) ?? subjectFolder(subject)
}

function listFiles({ settings, global, subjects }: RegistryFiles): RegistryFile[] {
  return [settings, global, ...subjects.flatMap(({ metadata, versions }) => [metadata, ...versions])]
}

async function storeFile(
  storage: Storage,
  { path, bytes }: RegistryFile,
  known: StoredFile | undefined,
  { backupId, generation, run }: RegistryPlace,
  signal: AbortSignal,
): Promise<StoredFile> {
  const [size, blake3] = [bytes.length, hashOf(bytes)]
  if (known?.size === size && known.blake3 === blake3) return known
  const file = registryFile(generation, run, path)
  await storage.create(registryKey(backupId, file), bytes, signal)
  return { file, size, blake3 }
}

function sectionOf(
  snapshot: RegistrySnapshot,
  files: RegistryFiles,
  stored: ReadonlyMap<string, StoredFile>,
): RegistrySection {
  const storedAs = ({ path }: RegistryFile): StoredFile => {
    const file = stored.get(path)
    if (!file) throw new KafkaBackupError('INTERNAL', `${path} was not written`)
    return file
  }
  const subjects = files.subjects.map(({ metadata, versions, ...subject }) => ({
    ...subject,
    metadata: storedAs(metadata),
    versions: versions.map(({ version, id, deleted, ...file }) => {
      const { file: schema_file, size, blake3 } = storedAs(file)
      return { version, id, deleted, schema_file, size, blake3 }
    }),
  }))
  return {
    schema_registry_version: snapshot.registryVersion ?? 'unknown',
    backup_timestamp: snapshot.takenAt,
    settings: storedAs(files.settings),
    global: storedAs(files.global),
    subjects,
    id_mapping: mapIds(subjects),
  }
}

/** Each id with the first of the files that hold its text. */
function mapIds(subjects: RegistrySection['subjects']): Record<string, string> {
  const mapping = new Map<string, string>()
  for (const { name, versions } of subjects) {
    for (const { id, schema_file } of versions) {
      const key = mappedId(name, id)
      if (!mapping.has(key)) mapping.set(key, schema_file)
    }
  }
  return Object.fromEntries(mapping)
}

const maxFolderBytes = 200
const maxPrefixBytes = 130

/** Bytes of a name that its folder contains unchanged. */
type IsKept = (character: string, at: number, length: number) => boolean

/**
 * Pure. A folder for each subject; no two differ in case alone, because a store may not distinguish them. A subject keeps
 * the folder that it has in `known`. Of new ones, in the order given, the first keeps its letters and the others are escaped.
 */
export function assignSubjectFolders(
  subjects: readonly string[],
  known: ReadonlyMap<string, string>,
): Map<string, string> {
  const folders = new Map<string, string>()
  const taken = new Set<string>()
  const assign = (subject: string, folder: string) => {
    folders.set(subject, folder)
    taken.add(folder.toLowerCase())
  }
  for (const subject of subjects) {
    const folder = known.get(subject)
    if (folder !== undefined) assign(subject, folder)
  }
  for (const subject of subjects.filter(one => !folders.has(one))) {
    const folder = subjectFolder(subject)
    assign(subject, taken.has(folder.toLowerCase()) ? escapedSubjectFolder(subject) : folder)
  }
  return folders
}

/**
 * Pure. The folder of a subject. Letters, digits, `-`, `_` and dots that come neither first nor last stay as they are; every
 * other byte of the name in UTF-8 becomes `%` and two lower-case digits, so that no name leads out of its folder and forms
 * of Unicode do not matter. The empty name is `%`.
 */
export function subjectFolder(subject: string): string {
  return encodeFolder(subject, isSafe)
}

/**
 * Pure. The folder of a subject whose name differs from another one in case alone: its capital letters are escaped as well,
 * or its first letter where it has none. No other subject has this folder, in whatever case.
 */
export function escapedSubjectFolder(subject: string): string {
  const firstLetter = /[A-Z]/.test(subject) ? -1 : Buffer.from(subject).findIndex(byte => isLetter(byte))
  return encodeFolder(
    subject,
    (character, at, length) => isSafe(character, at, length) && !/[A-Z]/.test(character) && at !== firstLetter,
  )
}

function encodeFolder(subject: string, isKept: IsKept): string {
  if (subject === '') return '%'
  const bytes = Buffer.from(subject, subject.isWellFormed() ? 'utf8' : 'utf16le')
  const folder = [...bytes]
    .map((byte, at) => {
      const character = String.fromCharCode(byte)
      return isKept(character, at, bytes.length) ? character : `%${byte.toString(16).padStart(2, '0')}`
    })
    .join('')
  if (folder.length <= maxFolderBytes && subject.isWellFormed()) return folder
  // Cut before an escape, never inside one.
  const prefix = folder.slice(0, maxPrefixBytes).replace(/%[0-9a-f]?$/, '')
  return `${prefix}%~${createHash('sha256').update(bytes).digest('hex')}`
}

function isSafe(character: string, at: number, length: number): boolean {
  return /[A-Za-z0-9_-]/.test(character) || (character === '.' && at > 0 && at < length - 1)
}

function isLetter(byte: number): boolean {
  return /[A-Za-z]/.test(String.fromCharCode(byte))
}

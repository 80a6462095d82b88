import { hasCode, KafkaBackupError } from '../errors.ts'
import { runPool } from '../lib/pool.ts'
import type { RegistrySnapshot } from '../registry/model.ts'
import type { Storage } from '../storage/storage.ts'
import { hashOf } from './hash.ts'
import { type FolderOf, registryKey } from './layout.ts'
import {
  GLOBAL_FILE,
  layOutRegistry,
  mappedId,
  metadataPath,
  type RegistryFile,
  type RegistryFiles,
  SETTINGS_FILE,
  versionPath,
} from './registry-files.ts'
import type { RegistrySection, StoredFile } from './registry-section.ts'

export interface RegistryPlace {
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
 * Makes a snapshot durable and returns what the manifest says of it. Nothing counts before a manifest with it is there.
 * Nothing that is there is touched: an object that changed since the generation before gets a name of its own, and what a
 * run has left behind that died before its commit is used where it is the same, and avoided where not.
 */
export async function writeRegistry(
  storage: Storage,
  snapshot: RegistrySnapshot,
  place: RegistryPlace,
  signal: AbortSignal,
): Promise<RegistrySection> {
  const files = layOutRegistry(snapshot, place.folderOf)
  const known = place.previous ? filesOf(place.previous, place.folderOf) : new Map<string, StoredFile>()
  const written = await runPool(listFiles(files), CONCURRENCY, async file => {
    const stored = await storeFile(storage, file, known.get(file.path), place, signal)
    return [file.path, stored] as const
  })
  return sectionOf(snapshot, files, new Map(written))
}

function listFiles({ settings, global, subjects }: RegistryFiles): RegistryFile[] {
  return [settings, global, ...subjects.flatMap(({ metadata, versions }) => [metadata, ...versions])]
}

/** The objects of a section, by the names that they would have as the first of their kind. */
function filesOf(
  { settings, global, subjects }: RegistrySection,
  folderOf: FolderOf | undefined,
): Map<string, StoredFile> {
  const files = new Map<string, StoredFile>([
    [SETTINGS_FILE, settings],
    [GLOBAL_FILE, global],
  ])
  for (const { name, metadata, versions } of subjects) {
    files.set(metadataPath(name, folderOf), metadata)
    for (const { version, schema_file: file, size, blake3 } of versions) {
      files.set(versionPath(name, version, file.slice(file.lastIndexOf('.') + 1), folderOf), { file, size, blake3 })
    }
  }
  return files
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
  const renamed = [`g${generation}`, `g${generation}.${run}`].map(mark => path.replace(/\.(\w+)$/, `.${mark}.$1`))
  for (const file of known ? renamed : [path, ...renamed]) {
    if (await createOrMeet(storage, registryKey(backupId, file), bytes, signal)) return { file, size, blake3 }
  }
  const key = registryKey(backupId, renamed[1] ?? path)
  throw new KafkaBackupError('STORAGE_EXISTS', `${key} is taken at ${storage.location}, and holds something else`)
}

/** False where something else has the key already. */
async function createOrMeet(storage: Storage, key: string, bytes: Buffer, signal: AbortSignal): Promise<boolean> {
  try {
    await storage.create(key, bytes, signal)
    return true
  } catch (error) {
    if (!hasCode(error, 'STORAGE_EXISTS')) throw error
    return (await storage.read(key, signal)).equals(bytes)
  }
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
  const subjects = files.subjects.map(({ name, schema_type, compatibility, metadata, versions }) => ({
    name,
    schema_type,
    compatibility,
    metadata: storedAs(metadata),
    versions: versions.map(({ version, id, deleted, ...file }) => {
      const { file: schema_file, size, blake3 } = storedAs(file)
      return { version, id, deleted, schema_file, size, blake3 }
    }),
  }))
  return {
    schema_registry_version: snapshot.registryVersion,
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

import { KafkaBackupError } from '../errors.ts'
import { runPool } from '../lib/pool.ts'
import type { Storage } from '../storage/storage.ts'
import { hashOf } from './hash.ts'
import { currentRegistryPath, type FolderOf, registryFile, registryKey } from './layout.ts'
import { layOutRegistry, mappedId, type RegistryFile, type RegistryFiles, subjectsOf } from './registry-files.ts'
import type { RegistrySnapshot } from './registry-model.ts'
import { type RegistrySection, registryFilesOf, type StoredFile } from './registry-section.ts'
import { registryText } from './scalars.ts'
import { assignSubjectFolders, subjectFolder } from './subject-folder.ts'

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

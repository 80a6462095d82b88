import { hasCode } from '../errors.ts'
import { runPool } from '../lib/pool.ts'
import type { Storage } from '../storage/storage.ts'
import { problemOf } from './damage.ts'
import { registryCopiesKey, registryKey } from './layout.ts'
import type { Manifest } from './manifest.ts'
import { currentFilesOf } from './newest-copies.ts'
import { readJson, readMetadata, readStored } from './read-registry.ts'
import {
  globalConfigSchema,
  type RegistrySection,
  registryFilesOf,
  registrySettingsSchema,
  type StoredFile,
} from './registry-section.ts'
import type { Problem } from './verify-objects.ts'

const CONCURRENCY = 16

/** NaN where a size is not known: see `SizeTable`. */
interface KnownSizes {
  get(key: string): number | undefined
}

interface RegistryFindings {
  objects: number
  bytes: number
  problems: Problem[]
  warnings: string[]
}

/**
 * What is wrong with the registry of a backup. Settings and metadata are read; of the texts of schemas presence and size
 * are compared, and their bytes too where the look is deep.
 */
export async function verifyRegistry(
  storage: Storage,
  { backup_id, generation, schema_registry: section }: Manifest,
  { deep, sizes }: { deep: boolean; sizes: KnownSizes },
  signal: AbortSignal,
): Promise<RegistryFindings> {
  if (!section) return { objects: 0, bytes: 0, problems: [], warnings: [] }
  const texts = section.subjects.flatMap(({ versions }) =>
    versions.map(({ schema_file: file, size, blake3 }) => ({ file, size, blake3 })),
  )
  const checks = [
    check(section.settings, () => readJson(storage, backup_id, section.settings, registrySettingsSchema, signal)),
    check(section.global, () => readJson(storage, backup_id, section.global, globalConfigSchema, signal)),
    ...section.subjects.map(subject =>
      check(subject.metadata, () => readMetadata(storage, backup_id, subject, signal)),
    ),
    ...texts.map(text => check(text, async () => deep && readStored(storage, backup_id, text, signal))),
  ]
  const found = await runPool(checks, CONCURRENCY, async ({ file, read }) => {
    const key = registryKey(backup_id, file.file)
    const problem = misfitOf(file, sizes.get(key)) ?? (await damageOf(key, read))
    return problem === undefined ? [] : [{ key, problem }]
  })
  const all = registryFilesOf(section)
  const stale = await findStaleCopies(storage, backup_id, section, { deep, sizes }, signal)
  return {
    objects: all.length,
    bytes: all.reduce((sum, { size }) => sum + size, 0),
    problems: [...found.flat(), ...checkIds(backup_id, section)],
    warnings: stale.length === 0 ? [] : [describeStale(backup_id, generation, stale)],
  }
}

/** The copies under plain names that are missing or have other content. Restores do not read them. */
async function findStaleCopies(
  storage: Storage,
  backupId: string,
  section: RegistrySection,
  { deep, sizes }: { deep: boolean; sizes: KnownSizes },
  signal: AbortSignal,
): Promise<string[]> {
  const found = await runPool(currentFilesOf(section), CONCURRENCY, async ([path, { size, blake3 }]) => {
    const key = registryKey(backupId, path)
    const known = sizes.get(key)
    if (known !== size && !Number.isNaN(known)) return [key]
    const problem = deep
      ? await damageOf(key, () => readStored(storage, backupId, { file: path, size, blake3 }, signal))
      : undefined
    return problem === undefined ? [] : [key]
  })
  return found.flat()
}

function describeStale(backupId: string, generation: number, [first, ...others]: readonly string[]): string {
  const more = others.length === 0 ? '' : ` and ${others.length} more`
  const remedy = `delete ${registryCopiesKey(backupId)} and run the backup again`
  return `the content of ${first}${more} is not that of generation ${generation}; restores do not read it. To write it again, ${remedy}`
}

interface Check {
  file: StoredFile
  read(): Promise<unknown>
}

function check(file: StoredFile, read: () => Promise<unknown>): Check {
  return { file, read }
}

function misfitOf({ size: expected }: StoredFile, size: number | undefined): string | undefined {
  if (size === undefined) return 'the object is missing'
  return size === expected || Number.isNaN(size) ? undefined : `it has ${size} bytes instead of ${expected}`
}

async function damageOf(key: string, read: () => Promise<unknown>): Promise<string | undefined> {
  try {
    await read()
    return undefined
  } catch (error) {
    if (!hasCode(error, 'ARCHIVE_DAMAGED', 'ARCHIVE_TOO_NEW')) throw error
    return problemOf(error, key)
  }
}

/** Every id leads to a text that the subjects name. */
function checkIds(backupId: string, section: RegistrySection): Problem[] {
  const named = new Set(section.subjects.flatMap(({ versions }) => versions.map(({ schema_file }) => schema_file)))
  return Object.entries(section.id_mapping)
    .filter(([, file]) => !named.has(file))
    .map(([id, file]) => ({
      key: registryKey(backupId, file),
      problem: `no subject names it, but schema ID ${id} does`,
    }))
}

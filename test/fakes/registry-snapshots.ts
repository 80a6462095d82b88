import type {
  RegistrySettings,
  RegistrySnapshot,
  SchemaReference,
  SchemaVersion,
} from '../../src/archive/registry-model.ts'

export const unset: RegistrySettings = { compatibility: null, mode: null, config: null }

/** A version with a text of its own; `changes` says what matters to the test. */
export function versionOf(
  subject: string,
  version: number,
  id: number,
  changes: Partial<SchemaVersion> & { refs?: string[] } = {},
): SchemaVersion {
  const { refs = [], ...rest } = changes
  return {
    subject,
    version,
    id,
    schemaType: 'AVRO',
    schema: `{"type":"fixed","name":"s${id}","size":${id}}`,
    references: refs.map(referenceTo),
    metadata: null,
    ruleSet: null,
    guid: null,
    isDeleted: false,
    ...rest,
  }
}

/** `subject@version`, under the name of the subject. */
export function referenceTo(text: string): SchemaReference {
  const at = text.lastIndexOf('@')
  const subject = text.slice(0, at)
  return { name: subject, subject, version: Number(text.slice(at + 1)) }
}

/** Subjects without settings given have none. */
export function snapshotOf(
  versions: readonly SchemaVersion[],
  changes: Partial<Omit<RegistrySnapshot, 'subjects'>> & { subjects?: Record<string, Partial<RegistrySettings>> } = {},
): RegistrySnapshot {
  const { subjects = {}, ...rest } = changes
  const names = [...new Set([...versions.map(({ subject }) => subject), ...Object.keys(subjects)])].sort()
  return {
    flavour: 'confluent',
    registryVersion: '8.0.0',
    takenAt: '2026-11-15T10:00:00.000Z',
    contexts: ['.'],
    versions,
    subjects: new Map(names.map(name => [name, { ...unset, ...subjects[name] }])),
    contextSettings: new Map(),
    global: { compatibility: 'BACKWARD', mode: 'READWRITE', config: null },
    maxIds: new Map(),
    skippedDeleted: 0,
    warnings: [],
    ...rest,
  }
}

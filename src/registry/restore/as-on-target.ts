import type { RegistrySnapshot } from '../../archive/registry-model.ts'
import type { RegistryRestoreOptions } from './plan/restore-options.ts'
import { listWanted } from './plan/wanted-version.ts'

/** Pure. What a job restores of a snapshot, under the names that it gets there; references and aliases follow. */
export function asOnTarget(
  snapshot: RegistrySnapshot,
  options: Pick<RegistryRestoreOptions, 'subjectMapping' | 'schemaTypes'>,
): RegistrySnapshot {
  const rename = (subject: string) => options.subjectMapping.get(subject) ?? subject
  const wanted = listWanted(snapshot, options)
  const kept = new Set(wanted.map(({ source }) => source.subject))
  const left = new Set(snapshot.versions.map(({ subject }) => subject).filter(subject => !kept.has(subject)))
  return {
    ...snapshot,
    versions: wanted.map(({ source, subject, references }) => ({
      ...source,
      subject,
      references: references.map(one => ({ name: one.name, subject: one.subject, version: one.version })),
    })),
    subjects: new Map(
      [...snapshot.subjects]
        .filter(([subject]) => !left.has(subject))
        .map(([subject, settings]) => {
          const { config } = settings
          if (typeof config?.alias !== 'string') return [rename(subject), settings]
          return [rename(subject), { ...settings, config: { ...config, alias: rename(config.alias) } }]
        }),
    ),
  }
}

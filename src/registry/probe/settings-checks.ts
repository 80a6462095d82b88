import { asRecord } from '../client/parse-answers.ts'
import { type FeatureCheck, found, type ProbeScope, record } from './probe-scope.ts'
import { contract, numbersOf } from './schema-checks.ts'

/** Levels, modes and other settings of subjects, and what IMPORT takes. The whole registry is never set. */
export const settingsChecks: readonly FeatureCheck[] = [
  {
    name: 'levels',
    label: 'subject compatibility level',
    without: 'levels of single subjects are not kept; lossy',
    isWrite: true,
    run: async scope => {
      const subject = scope.subject('level')
      await scope.register(subject, { schema: record('ProbeLevel') })
      await scope.put('config', subject, { compatibility: 'FULL' })
      return found((await configOf(scope, subject)).compatibilityLevel === 'FULL')
    },
  },
  {
    name: 'early_levels',
    label: 'level before the first version',
    without: 'a history that breaks its level needs `set_compatibility` or `force_register`',
    isWrite: true,
    run: async scope => {
      const subject = scope.subject('early')
      return found((await scope.put('config', subject, { compatibility: 'NONE' })).isOk)
    },
  },
  {
    name: 'settings',
    label: 'other subject settings',
    without: 'normalize, aliases and the like are not kept; lossy',
    isWrite: true,
    run: async scope => {
      const subject = scope.subject('settings')
      await scope.register(subject, { schema: record('ProbeSettings') })
      await scope.put('config', subject, { compatibility: 'FULL', normalize: true })
      return found((await configOf(scope, subject)).normalize === true)
    },
  },
  {
    name: 'settings_without_level',
    label: 'settings without a level',
    without: 'the level in force is written with them',
    isWrite: true,
    run: async scope => {
      const subject = scope.subject('no-level')
      await scope.register(subject, { schema: record('ProbeNoLevel') })
      await scope.put('config', subject, { normalize: true })
      return found((await configOf(scope, subject)).normalize === true)
    },
  },
  {
    name: 'modes',
    label: 'subject mode',
    without: 'modes such as READONLY are not kept; lossy',
    isWrite: true,
    run: async scope => {
      const subject = scope.subject('mode')
      await scope.register(subject, { schema: record('ProbeMode') })
      await scope.put('mode', subject, { mode: 'READONLY' })
      const { body } = await scope.get('mode', subject)
      return found(asRecord(body)?.mode === 'READONLY')
    },
  },
  {
    name: 'import',
    label: 'import with IDs (force_ids)',
    without: '`restore.force_ids` is refused; `rewrite_ids` works',
    isWrite: true,
    run: async scope => found((await tryImport(scope, 'import')).isKept),
  },
  {
    name: 'import_contracts',
    label: 'force_ids: metadata, rule sets',
    without: 'with `force_ids`, metadata and rule sets are not kept; lossy',
    isWrite: true,
    run: async scope => {
      const { isKept, subject } = await tryImport(scope, 'import-contracts', contract)
      if (!isKept) return undefined
      const held = await scope.version(subject, IMPORTED)
      return found(JSON.stringify(held?.metadata ?? '').includes('owner') && held?.ruleSet !== undefined)
    },
  },
  {
    name: 'import_twins',
    label: 'force_ids: same schema twice',
    without: 'with `force_ids`, one version stands for both; lossy',
    isWrite: true,
    run: async scope => {
      const { isKept, subject, id } = await tryImport(scope, 'import-twins')
      if (!isKept) return undefined
      const again = { schema: record('Probe_import_twins'), id: id + 1, version: IMPORTED + 1 }
      const { id: answered } = await scope.register(subject, again)
      return found(answered === id + 1 && (await numbersOf(scope, subject, true)).length === 2)
    },
  },
  {
    name: 'import_deleted_references',
    label: 'force_ids: deleted references',
    without: 'with `force_ids`, what live versions refer to stays live; lossy',
    isWrite: true,
    run: async scope => {
      const base = scope.subject('import-ref-base')
      await scope.register(base, { schema: record('ProbeGone') })
      await scope.remove(base, '/versions/1')
      const schema = '{"type":"record","name":"ProbeToGone","fields":[{"name":"a","type":"ProbeGone"}]}'
      const references = [{ name: 'ProbeGone', subject: scope.plain('import-ref-base'), version: 1 }]
      const { isInMode, isKept } = await tryImport(scope, 'import-ref', { schema, references })
      return isInMode ? found(isKept) : undefined
    },
  },
]

/** A number that the registry would not give by itself. */
const IMPORTED = 3

/** Imports a version of a separate subject. The ID follows the last one that the registry assigned. */
async function tryImport(
  scope: ProbeScope,
  name: string,
  more: { schema?: string; references?: { name: string; subject: string; version: number }[] } & Partial<
    typeof contract
  > = {},
) {
  const plain = name.replaceAll('-', '_')
  const given = await scope.register(scope.subject(`${name}-before`), { schema: record(`Before_${plain}`) })
  const subject = scope.subject(name)
  const id = (given.id ?? 0) + 1
  const { isOk } = await scope.put('mode', subject, { mode: 'IMPORT' })
  const { body } = await scope.get('mode', subject)
  const isInMode = isOk && asRecord(body)?.mode === 'IMPORT'
  if (!isInMode) return { subject, id, isInMode, isKept: false }
  const sent = { schema: record(`Probe_${plain}`), ...more, id, version: IMPORTED }
  const { id: answered } = await scope.register(subject, sent)
  const isKept = answered === id && (await numbersOf(scope, subject, true)).includes(IMPORTED)
  return { subject, id, isInMode, isKept }
}

async function configOf(scope: ProbeScope, subject: string): Promise<Record<string, unknown>> {
  return asRecord((await scope.get('config', subject)).body) ?? {}
}

import { joinSubject, type RegistryFlavour, splitSubject } from '../../archive/registry-model.ts'
import { contextPath, pathOf } from '../client/address.ts'
import type { RegistryClient } from '../client/client.ts'
import { detectFlavour } from '../client/flavour.ts'
import { asList, asRecord } from '../client/parse-answers.ts'
import type { LeftBehind } from './clear-scope.ts'
import { type FeatureCheck, type FeatureResult, found, ProbeScope } from './probe-scope.ts'
import { schemaChecks } from './schema-checks.ts'
import { settingsChecks } from './settings-checks.ts'

export interface ProbeOptions {
  /** Also what has to be written to be seen. */
  isWriting: boolean
  /** Called before the first write, with where it writes. */
  onWrite(place: string): void
  /** Called with what may still be there where the probe itself fails. */
  onLeftBehind(left: readonly LeftBehind[]): void
}

export interface RegistryProbe {
  registry: string
  flavour: RegistryFlavour
  version: string | null
  features: readonly FeatureResult[]
  /** Schemas that were registered: each may have used up an ID for good. */
  registrations: number
  /** What the probe could not remove. */
  leftBehind: readonly LeftBehind[]
}

/** Finds out what a registry can do that restores rely on. It writes to a separate scope, which it removes afterwards. */
export async function probeRegistry(
  client: RegistryClient,
  options: ProbeOptions,
  signal: AbortSignal,
): Promise<RegistryProbe> {
  const identity = await detectFlavour(client, signal)
  const listed = asList(await client.probe({ path: '/contexts' }, signal))
  // Apicurio lists one that it does not have.
  const hasContexts = listed !== undefined && listed[0] !== ':.:'
  const name = `kafka-backup-probe-${client.clock.now().toString(36)}`
  const scope = new ProbeScope(client, { identity, hasContexts, name }, signal)
  const features = options.isWriting ? await probeByWriting(scope, options) : await runChecks(scope, false)
  const leftBehind = options.isWriting ? await scope.clear() : []
  const { flavour, version } = identity
  return { registry: client.name, flavour, version, features, registrations: scope.registrations, leftBehind }
}

async function probeByWriting(
  scope: ProbeScope,
  { onWrite, onLeftBehind }: ProbeOptions,
): Promise<readonly FeatureResult[]> {
  onWrite(scope.place)
  try {
    await scope.registerFirst()
    return await runChecks(scope, true)
  } catch (error) {
    const leftBehind = await scope.clear()
    if (leftBehind.length > 0) onLeftBehind(leftBehind)
    throw error
  }
}

/** Writes come first, because what was written can be read. */
async function runChecks(scope: ProbeScope, isWriting: boolean): Promise<FeatureResult[]> {
  const results = new Map<FeatureCheck, FeatureResult>()
  const inOrder = featureChecks.toSorted((a, b) => Number(b.isWrite) - Number(a.isWrite))
  for (const check of inOrder) results.set(check, await runCheck(check, scope, isWriting))
  return featureChecks.flatMap(check => results.get(check) ?? [])
}

async function runCheck(check: FeatureCheck, scope: ProbeScope, isWriting: boolean): Promise<FeatureResult> {
  const { name, label, isWrite, without } = check
  if (isWrite && !isWriting) return { name, label, has: null, detail: 'not tried; use --write' }
  const verdict = await check.run(scope)
  if (verdict === undefined)
    return {
      name,
      label,
      has: null,
      detail: isWrite ? 'needs a feature that is missing' : 'cannot be seen on this registry now',
    }
  return { name, label, has: verdict.has, detail: verdict.detail ?? (verdict.has ? '' : without) }
}

/** No registry has a subject or context of this name. */
const NOWHERE = 'kafka-backup-nowhere'

/** What can be seen without writing anything. */
const readChecks: readonly FeatureCheck[] = [
  {
    name: 'schema_list',
    label: 'list of all schemas',
    without: 'a backup requests each version separately, which is slower',
    isWrite: false,
    run: async scope => {
      const { context } = splitSubject((await scope.sample()) ?? '')
      const path = `${contextPath(scope.identity, context)}/schemas`
      const { body } = await scope.ask({ path, query: { limit: 1, deleted: true } })
      const rows = asList(body)
      if (rows === undefined) return found(false)
      const { subject, version, id } = asRecord(rows[0]) ?? {}
      if (rows.length === 0) return undefined
      return found([subject, version, id].every(each => each !== undefined))
    },
  },
  {
    name: 'schema_types',
    label: 'Avro, JSON and Protobuf',
    without: 'schemas of the missing types cannot be restored',
    isWrite: false,
    run: async scope => {
      const types = asList((await scope.ask({ path: '/schemas/types' })).body)
      if (types === undefined) return undefined
      const missing = ['AVRO', 'JSON', 'PROTOBUF'].filter(type => !types.includes(type))
      return found(missing.length === 0, missing.length === 0 ? undefined : `missing: ${missing.join(', ')}`)
    },
  },
  {
    name: 'contexts',
    label: 'contexts',
    without: 'subjects of a context are restored under plain names; lossy',
    isWrite: false,
    run: async scope => found(scope.hasContexts),
  },
  {
    name: 'unset_settings',
    label: 'unset levels shown as unset',
    without: 'a backup of this registry may contain inherited levels',
    isWrite: false,
    run: async scope => {
      // Apicurio answers for every subject that exists.
      const subject = scope.ownSample ?? NOWHERE
      const { status } = await scope.ask({ path: pathOf(scope.identity, 'config', subject), subject })
      return found(status === 404)
    },
  },
  {
    name: 'unset_context_settings',
    label: 'unset contexts shown as unset',
    without: 'settings that it shows for every context are not backed up',
    isWrite: false,
    run: async scope => {
      if (!scope.hasContexts) return undefined
      const nowhere = joinSubject({ context: `.${NOWHERE}`, name: '' })
      const { status } = await scope.ask({ path: pathOf(scope.identity, 'config', nowhere), subject: nowhere })
      return found(status === 404)
    },
  },
  {
    name: 'highest_id',
    label: 'highest ID ever given',
    without: 'IDs above those of the backup may be given again after `force_ids`',
    isWrite: false,
    run: async scope => {
      const subject = await scope.sample()
      if (subject === undefined) return undefined
      const latest = await scope.ask({ path: pathOf(scope.identity, 'subjects', subject, '/versions/latest'), subject })
      const { id } = asRecord(latest.body) ?? {}
      if (typeof id !== 'number') return undefined
      const path = `${contextPath(scope.identity, splitSubject(subject).context)}/schemas/ids/${id}`
      const { body } = await scope.ask({ path, query: { fetchMaxId: true } })
      return found(typeof asRecord(body)?.maxId === 'number')
    },
  },
]

/** Every feature that the probe checks, in the order of the report. */
export const featureChecks: readonly FeatureCheck[] = [...readChecks, ...schemaChecks, ...settingsChecks]

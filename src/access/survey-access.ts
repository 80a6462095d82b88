import { readAccess } from '../archive/access.ts'
import { carriedNotice } from '../archive/carried-notice.ts'
import type { Manifest } from '../archive/manifest.ts'
import { hasCode, KafkaBackupError } from '../errors.ts'
import { listAcls } from '../kafka/acls.ts'
import { listQuotas, setQuotas } from '../kafka/client-quotas.ts'
import type { Cluster } from '../kafka/cluster.ts'
import { fetchClusterPermissions } from '../kafka/permissions.ts'
import { listScramUsers } from '../kafka/scram-users.ts'
import type { Check, Finding } from '../observe/finding.ts'
import type { Storage } from '../storage/storage.ts'
import { type AccessPlan, countBy } from './access-plan.ts'
import { type ExistingAccess, planAccess } from './plan-access.ts'
import type { AccessSelection } from './read-source-access.ts'

/** What a restore knows before it restores access rules. */
interface AccessSource {
  manifest: Pick<Manifest, 'generation' | 'created_at' | 'carried_sections' | 'access'>
  topics: readonly { name: string; label: string; source: { name: string } }[]
  /** Source topic to target topic; others keep their name. */
  topicMapping: ReadonlyMap<string, string>
  /** Of consumer groups. */
  groupMapping: ReadonlyMap<string, string>
}

/** The access rules of a backup on their way to the target. */
export interface AccessSurvey {
  plan: AccessPlan
  /** The rules to create, and the missing permissions. */
  checks: Check[]
}

/** Reads the backup and the target, and writes nothing. Undefined where nothing is selected. */
export async function surveyAccess(
  selection: AccessSelection,
  { manifest, topics, topicMapping, groupMapping }: AccessSource,
  { cluster, storage }: { cluster: Cluster; storage: Storage },
  signal: AbortSignal,
): Promise<AccessSurvey | undefined> {
  if (!selection.acls && !selection.quotas && !selection.users) return undefined
  const { generation, access: section } = manifest
  const restored = topics.map(({ name, label, source }) => ({ source: source.name, label, target: name }))
  const names = { topics: restored, topicMapping, groupMapping }
  const file = section && (await readAccess(storage, section, signal).catch(ifDamaged))
  const existing = await readExisting(cluster, selection, signal)
  const planned = planAccess({ ...selection, names }, { generation, section, file }, existing)
  const plan = await tryQuotas(cluster, planned, signal)
  const notice = carriedNotice(manifest, 'access')
  const findings = notice === undefined ? plan.findings : [...plan.findings, olderRules(notice)]
  return { plan: { ...plan, findings }, checks: checksOf(planned) }
}

function olderRules(problem: string): Finding {
  return { severity: 'warning', subject: 'access rules', problem, remedy: '' }
}

/** Damage is a finding among the others. */
function ifDamaged(error: unknown): KafkaBackupError {
  if (hasCode(error, 'ARCHIVE_DAMAGED')) return error
  throw error
}

/** What the target has of the selected kinds. */
async function readExisting(
  cluster: Cluster,
  selection: AccessSelection,
  signal: AbortSignal,
): Promise<ExistingAccess> {
  return {
    acls: selection.acls ? await readable(() => listAcls(cluster, signal), signal) : [],
    quotas: selection.quotas ? await readable(() => listQuotas(cluster, signal), signal) : [],
    users: selection.users ? await readable(() => listScramUsers(cluster, signal), signal) : [],
    granted: await fetchClusterPermissions(cluster, signal),
  }
}

async function readable<T>(list: () => Promise<T[]>, signal: AbortSignal): Promise<T[] | KafkaBackupError> {
  try {
    return await list()
  } catch (error) {
    if (signal.aborted || !(error instanceof KafkaBackupError) || !error.code.startsWith('KAFKA_')) throw error
    return error
  }
}

/** Has the target validate the quotas to create, which changes nothing: refused ones are reported before the first write. */
export async function tryQuotas(cluster: Cluster, plan: AccessPlan, signal: AbortSignal): Promise<AccessPlan> {
  const { quotas } = plan
  const wanted = quotas?.items.filter(({ decision }) => decision === 'create') ?? []
  if (!quotas || wanted.length === 0) return plan
  const asked = wanted.map(({ item }) => item)
  const tried = await readable(() => setQuotas(cluster, asked, { validateOnly: true }, signal), signal)
  const errors = tried instanceof KafkaBackupError ? asked.map(() => tried) : tried
  const refused = new Map(wanted.map((one, i) => [one, errors[i]]))
  const items = quotas.items.map(one => {
    const error = refused.get(one)
    return error ? { ...one, decision: 'failed' as const, notes: [...one.notes, error.message] } : one
  })
  return { ...plan, quotas: { ...quotas, items } }
}

function checksOf({ findings, acls, quotas, users }: AccessPlan): Check[] {
  const denied = findings.filter(({ code }) => code === 'KAFKA_DENIED')
  const missing = denied.map(({ remedy, details }) => ({
    subject: 'cluster',
    action: details?.operation ?? '',
    allowed: false,
    detail: remedy,
  }))
  const counts = [
    acls && `${countBy(acls, 'create')} ACLs to create, ${countBy(acls, 'kept')} are there`,
    quotas && `${countBy(quotas, 'create')} quotas to set, ${countBy(quotas, 'kept')} are there`,
    users && `${countBy(users, 'cannot')} users to create by hand, ${countBy(users, 'kept')} are there`,
  ].filter(one => one !== undefined)
  if (counts.length === 0) return missing
  return [{ subject: 'access rules', action: 'fits', allowed: true, detail: counts.join('; ') }, ...missing]
}

import { isTooDeep } from '../lib/json.ts'
import { type Section, sectionOf, translateBackup, translateRestore } from './translate-oso-options.ts'
import { translateStorage } from './translate-oso-storage.ts'

export interface TranslatedJob {
  /** A job of this program, as its job file has it. */
  job: Record<string, unknown>
  /** Fields that have no counterpart or another meaning, by their paths, with what to do. */
  notes: string[]
}

/**
 * Pure. A job file of OSO kafka-backup (0.25), parsed from YAML, as a job of this program. `${VAR}` stays as it is. Nothing is dropped
 * without a note; what is wrong in the job is found when it is loaded.
 */
export function translateOsoJob(document: unknown): TranslatedJob {
  const job = isTooDeep(document) ? {} : sectionOf(document)
  const notes: string[] = []
  const isRestore = job.mode === 'restore'
  if (job.mode !== 'backup' && !isRestore) notes.push('mode: it must be backup or restore')
  const cluster = sectionOf(isRestore ? job.target : job.source)
  const side = isRestore ? 'target' : 'source'
  const translated: Record<string, unknown> = {
    mode: job.mode,
    backup_id: job.backup_id,
    [side]: { ...translateCluster(cluster, side, notes), ...(!isRestore && { topics: topicsOf(cluster) }) },
    storage: translateStorage(sectionOf(job.storage), notes),
    ...(isRestore
      ? { restore: { topics: topicsOf(cluster), ...translateRestore(sectionOf(job.restore), notes) } }
      : { backup: translateBackup(sectionOf(job.backup), notes) }),
    ...translateMetrics(sectionOf(job.metrics), notes),
  }
  for (const name of Object.keys(job).filter(key => !KNOWN.has(key))) notes.push(`${name}: not translated`)
  if (job.offset_storage !== undefined) notes.push('offset_storage: not needed, progress is part of the backup')
  if (isRestore)
    notes.push('backup_id: import the archive first (`kafka-backup import`), and let storage name the new location')
  return { job: translated, notes }
}

const KNOWN = new Set([
  'mode',
  'backup_id',
  'source',
  'target',
  'storage',
  'backup',
  'restore',
  'metrics',
  'offset_storage',
])

function topicsOf(cluster: Section): Section {
  const { include = ['*'], exclude = [] } = sectionOf(cluster.topics)
  return { include, exclude }
}

function translateCluster(cluster: Section, side: string, notes: string[]): Section {
  const security = { ...sectionOf(cluster.security) }
  for (const pattern of [sectionOf(cluster.topics).include, sectionOf(cluster.topics).exclude].flat()) {
    if (typeof pattern === 'string' && pattern.startsWith('~')) {
      notes.push(`${side}.topics: the regular expression ${pattern} has no counterpart; use patterns with * and ?`)
    }
  }
  if (cluster.connection !== undefined) notes.push(`${side}.connection: not translated; connections are managed`)
  const translated = translateSecurity(security, `${side}.security`, notes)
  return { bootstrap_servers: cluster.bootstrap_servers, ...(translated && { security: translated }) }
}

function translateSecurity(security: Section, at: string, notes: string[]): Section | undefined {
  const protocol = security.security_protocol ?? 'PLAINTEXT'
  const mechanism = mechanismOf(security.sasl_mechanism)
  if (protocol === 'PLAINTEXT' && mechanism === undefined) return undefined
  const tls = {
    ...(security.ssl_ca_location !== undefined && { ca_cert: security.ssl_ca_location }),
    ...(security.ssl_certificate_location !== undefined && { client_cert: security.ssl_certificate_location }),
    ...(security.ssl_key_location !== undefined && { client_key: security.ssl_key_location }),
  }
  const canLogin = mechanism !== undefined && PASSWORDS.includes(mechanism)
  if (mechanism !== undefined && !canLogin) {
    notes.push(
      `${at}.sasl_mechanism: ${mechanism} is not translated; docs/security.md has the mechanisms and their fields`,
    )
  }
  const sasl = canLogin && { mechanism, username: security.sasl_username, password: security.sasl_password }
  return { protocol, ...(Object.keys(tls).length > 0 && { tls }), ...(sasl && { sasl }) }
}

const PASSWORDS = ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512']

/** `SCRAM-SHA256` and `SCRAM-SHA-256` are the same there. */
function mechanismOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value.replace(/^SCRAM-SHA-?(256|512)$/, 'SCRAM-SHA-$1') : undefined
}

function translateMetrics(metrics: Section, notes: string[]): Section {
  if (Object.keys(metrics).length === 0 || metrics.enabled === false) return {}
  notes.push('metrics: the names of metrics differ; docs/metrics.md lists them')
  return { metrics: { listen: `${metrics.bind_address ?? '0.0.0.0'}:${metrics.port ?? 8080}` } }
}

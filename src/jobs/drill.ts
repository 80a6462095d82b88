import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { recordDrill } from '../archive/drill-record.ts'
import type { Manifest } from '../archive/manifest.ts'
import { withLease } from '../archive/writer-lease.ts'
import { describeOutcome, EVIDENCE_FORMAT, type Evidence, encodeEvidence, sha256 } from '../drill/evidence.ts'
import { formatHtmlReport, formatTextReport } from '../drill/evidence-report.ts'
import { drillFolder, drillName } from '../drill/journal.ts'
import { assertScope, type DrillPlan, type DrillScope, planDrill } from '../drill/plan-drill.ts'
import { assertScratch } from '../drill/scratch-topics.ts'
import { readSigningKey, signBytes, signerOf } from '../drill/sign-evidence.ts'
import { EVIDENCE_FILES } from '../drill/verify-evidence.ts'
import { KafkaBackupError, usageError } from '../errors.ts'
import { formatUtc, systemClock } from '../lib/clock.ts'
import { parseLocation } from '../storage/location.ts'
import { openStorage } from '../storage/open-storage.ts'
import type { Storage } from '../storage/storage.ts'
import { version } from '../version.ts'
import { type EvidencePlace, evidenceElsewhere, evidenceInBackup } from './drill-place.ts'
import { type DrillRun, removeLeftovers, restoreScratch } from './drill-scratch.ts'
import { leaseParts } from './leases.ts'
import { type Hooks, type Parts, withParts } from './parts.ts'
import { restoreOptions } from './restore.ts'
import type { LocatedRestoreJob } from './schema-target.ts'

const DAMAGED = 3

export interface DrillRequest {
  scope: DrillScope
  /** The location that the evidence and the journal of the drill are written to; undefined for the folder of the backup. */
  evidence?: string | undefined
  /** The begin of the names of all topics that the drill creates. */
  scratchPrefix: string
  /** An ed25519 private key in PEM form. */
  signingKey?: string | undefined
  /** False: the result is not stored with the backup. */
  record: boolean
  /** False: schemas of the backup are not restored. */
  schemas: boolean
}

export interface DrillReport {
  evidence: Evidence
  /** Where the files of the evidence are. */
  location: string
  files: string[]
  /** The object that holds the result for `list`, `describe`, `status` and the console; or why there is none. */
  record: { key: string } | { not_recorded: string }
}

/**
 * Restores a part of a backup under scratch names, compares every record, removes what it created, and writes evidence. A restore
 * that fails or differs is a result; what keeps the drill from beginning is an error, and changes nothing.
 */
export async function runDrillJob(
  job: LocatedRestoreJob,
  request: DrillRequest,
  hooks: Hooks,
  signal: AbortSignal,
): Promise<DrillReport> {
  const names = { prefix: checkPrefix(request.scratchPrefix), run: randomBytes(8).toString('hex') }
  assertScope(request.scope, restoreOptions(job).timeWindow)
  const key = request.signingKey === undefined ? undefined : await readSigningKey(request.signingKey)
  const given = request.evidence === undefined ? undefined : openStorage(parseLocation(request.evidence))
  try {
    return await withParts({ ...job, source: job.target }, hooks, signal, async parts => {
      const { storage } = parts
      const place = given ? evidenceElsewhere(given, storage) : evidenceInBackup(storage, job.backupId)
      const { manifest, plan } = await readPlan(job, request.scope, names, parts, signal)
      const claim = {
        ...({ backupId: job.backupId, role: 'writer', kind: 'drill' } as const),
        where: `the drills of backup ${job.backupId} at ${place.locate(`${job.backupId}/drills`)}`,
        help: 'Wait until the other drill has ended, or pass another --evidence location.',
      }
      return withLease(leaseParts(place.storage, hooks), claim, signal, () =>
        drillUnderLease({ job, request, names, key, manifest, plan, place, parts, hooks }, signal),
      )
    })
  } finally {
    await given?.close()
  }
}

interface PlannedDrill {
  job: LocatedRestoreJob
  request: DrillRequest
  names: { run: string }
  key: SigningKey | undefined
  manifest: Manifest
  plan: DrillPlan
  place: EvidencePlace
  parts: Parts
  hooks: Hooks
}

async function drillUnderLease(
  { job, request, names, key, manifest, plan, place, parts, hooks }: PlannedDrill,
  signal: AbortSignal,
): Promise<DrillReport> {
  const { storage: evidenceAt } = place
  await removeLeftovers({ job, evidenceAt, hooks, cluster: parts.cluster }, signal)
  await assertScratch(
    parts.cluster,
    plan.topics.map(({ scratch }) => scratch),
    signal,
  )
  const { clusterId } = await parts.cluster.metadata({ topics: [] }, signal)
  const startedAt = formatUtc(systemClock.now())
  const folder = drillFolder(job.backupId, drillName(startedAt, names.run))
  const run: DrillRun = { job, plan, manifest, run: names.run, folder, clusterId, startedAt, evidenceAt, hooks }
  const { outcome, cleanUp } = await restoreScratch(run, { schemas: request.schemas }, signal)
  const evidence: Evidence = {
    ...{ format: EVIDENCE_FORMAT, format_version: 1, run: names.run },
    ...describeOutcome({ plan, ...outcome }),
    ...describePlaces(manifest, parts.storage, clusterId),
    ...{ started_at: startedAt, finished_at: formatUtc(systemClock.now()), clean_up: cleanUp },
    ...{ tool: { name: 'kafka-backup', version, node: process.version }, host: hostname() },
    signer: key ? signerOf(key) : null,
  }
  // The backup itself failed, and not the target or the connection to it.
  const damaged = outcome.error?.exitCode === DAMAGED || evidence.failure?.code === 'DIFFERENT'
  const written = await writeEvidence(evidenceAt, folder, evidence, key, signal)
  const record = request.record
    ? await keepRecord(parts.storage, { evidence, plan, sha256: written.sha256, damaged }, signal)
    : { not_recorded: 'not requested' }
  return { evidence, location: place.locate(folder), files: written.files, record }
}

type SigningKey = Awaited<ReturnType<typeof readSigningKey>>

function checkPrefix(prefix: string): string {
  if (/^[\w.-]{1,100}$/.test(prefix)) return prefix
  throw usageError(
    `--scratch-prefix ${JSON.stringify(prefix)} cannot begin the name of a topic: use 1 to 100 letters, digits, ., _ and -`,
  )
}

async function readPlan(
  job: LocatedRestoreJob,
  scope: DrillScope,
  names: { prefix: string; run: string },
  { storage }: Parts,
  signal: AbortSignal,
): Promise<{ manifest: Manifest; plan: DrillPlan }> {
  const [{ readSelected }, { findRegistryStores }] = await Promise.all([
    import('../restore/find-restore.ts'),
    import('../restore/registry-topics.ts'),
  ])
  const { rewrite: _, restoresSchemas: __, ...options } = restoreOptions(job)
  const manifest = await readSelected(storage, job.backupId, options, signal)
  const stores = await findRegistryStores(manifest, options, storage, signal)
  return { manifest, plan: planDrill(manifest, options, scope, { names, random: Math.random, stores }) }
}

function describePlaces(
  { backup_id, generation, created_at, cluster }: Manifest,
  { location }: Storage,
  clusterId: string | null,
): Pick<Evidence, 'backup' | 'target'> {
  const backup = { id: backup_id, location, generation, committed_at: created_at, source_cluster_id: cluster.id }
  return { backup, target: { cluster_id: clusterId } }
}

/** The reports first: the document has their hashes, and the signature comes last. */
async function writeEvidence(
  storage: Storage,
  folder: string,
  evidence: Evidence,
  key: SigningKey | undefined,
  signal: AbortSignal,
): Promise<{ files: string[]; sha256: string }> {
  const reports = { text: formatTextReport(evidence), html: formatHtmlReport(evidence) }
  const bytes = encodeEvidence(evidence, reports)
  const bodies: [string, Uint8Array][] = [
    [EVIDENCE_FILES.text, Buffer.from(reports.text)],
    [EVIDENCE_FILES.html, Buffer.from(reports.html)],
    [EVIDENCE_FILES.document, bytes],
    ...(key ? [[EVIDENCE_FILES.signature, signBytes(bytes, key)] as [string, Uint8Array]] : []),
  ]
  for (const [name, body] of bodies) await storage.create(`${folder}/${name}`, body, signal)
  return { files: bodies.map(([name]) => name), sha256: sha256(bytes) }
}

interface DrillResult {
  evidence: Evidence
  plan: DrillPlan
  sha256: string
  damaged: boolean
}

/** Never fails: the drill has its result without it. */
async function keepRecord(
  storage: Storage,
  { evidence, plan, sha256: evidence_sha256, damaged }: DrillResult,
  signal: AbortSignal,
): Promise<DrillReport['record']> {
  const { backup, result, scope, recovery, run, started_at, finished_at, host } = evidence
  const { topics, records, bytes, differences } = evidence.totals
  const record = {
    ...({ format: 'kafka-backup-drill', format_version: 1, backup_id: backup.id } as const),
    ...{ generation: backup.generation, proven: result === 'proven', scope, topics, records, bytes, differences },
    ...{ selection: plan.selection, limited: plan.isLimited, damaged },
    recovery_ms: Math.round((recovery?.total ?? 0) * 1000),
    ...{ started_at, finished_at, evidence_sha256, host, tool_version: version },
  }
  try {
    const key = await recordDrill(storage, record, run, signal)
    return key === undefined ? { not_recorded: 'the backup was removed meanwhile' } : { key }
  } catch (error) {
    if (!(error instanceof KafkaBackupError) || signal.aborted) throw error
    return { not_recorded: error.message }
  }
}

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BackupReport } from '../../src/backup/run-backup.ts'
import { type BackupJob, parseJob } from '../../src/config/load-job.ts'
import { runBackupJob } from '../../src/jobs/backup.ts'
import type { Hooks } from '../../src/jobs/parts.ts'

export interface JobSpec {
  servers: readonly string[]
  /** Of the filesystem store; `storage` wins over it. */
  path?: string
  /** More of the job's `source:`, such as how to authenticate. */
  source?: Record<string, unknown>
  /** The job's `storage:`. */
  storage?: Record<string, unknown>
  backupId?: string
  include: readonly string[]
  exclude?: readonly string[]
  backup?: Record<string, unknown>
  retention?: Record<string, unknown> | undefined
  /** Where metrics are served. */
  metrics?: string | undefined
  security?: Record<string, unknown> | undefined
}

/** JSON is YAML, so the job goes the way of every job file. */
export function jobText(spec: JobSpec): string {
  const { servers, path, source = {}, backupId = 'b1', include, exclude = [], backup = {}, metrics, security } = spec
  const { retention } = spec
  return JSON.stringify({
    mode: 'backup',
    backup_id: backupId,
    source: { ...source, bootstrap_servers: servers, topics: { include, exclude }, ...(security && { security }) },
    storage: spec.storage ?? { backend: 'filesystem', path },
    backup,
    ...(retention && { retention }),
    ...(metrics !== undefined && { metrics: { listen: metrics } }),
  })
}

export function makeJob(spec: JobSpec): BackupJob {
  return parseJob(jobText(spec), { source: 'test job', env: process.env, mode: 'backup' })
}

export function backUp(spec: JobSpec, hooks: Partial<Hooks> = {}, signal?: AbortSignal): Promise<BackupReport> {
  return runBackupJob(makeJob(spec), { onProgress: () => undefined, ...hooks }, signal ?? new AbortController().signal)
}

export async function withFolder<T>(work: (path: string) => Promise<T>, parent = tmpdir()): Promise<T> {
  const path = await mkdtemp(join(parent, 'kafka-backup-test-'))
  try {
    return await work(path)
  } finally {
    await rm(path, { recursive: true, force: true })
  }
}

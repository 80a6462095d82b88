import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BackupReport, type Job, parseJob, runBackupJob } from '../../src/index.ts'
import type { Hooks } from '../../src/wiring.ts'

export interface JobSpec {
  servers: readonly string[]
  path: string
  backupId?: string
  include: readonly string[]
  exclude?: readonly string[]
  backup?: Record<string, unknown>
  /** Where metrics are served. */
  metrics?: string | undefined
  security?: Record<string, unknown> | undefined
  clientRack?: string | undefined
}

/** JSON is YAML, so the job goes the way of every job file. */
export function jobText(spec: JobSpec): string {
  const { servers, path, backupId = 'b1', include, exclude = [], backup = {}, metrics, security, clientRack } = spec
  return JSON.stringify({
    mode: 'backup',
    backup_id: backupId,
    source: { bootstrap_servers: servers, topics: { include, exclude }, security, client_rack: clientRack },
    storage: { backend: 'filesystem', path },
    backup,
    ...(metrics !== undefined && { metrics: { listen: metrics } }),
  })
}

export function makeJob(spec: JobSpec): Job {
  return parseJob(jobText(spec), { source: 'test job', env: {} })
}

export function backUp(spec: JobSpec, hooks: Partial<Hooks> = {}, signal?: AbortSignal): Promise<BackupReport> {
  return runBackupJob(makeJob(spec), { onProgress: () => undefined, ...hooks }, signal ?? new AbortController().signal)
}

export async function withFolder<T>(work: (path: string) => Promise<T>): Promise<T> {
  const path = await mkdtemp(join(tmpdir(), 'kafka-backup-test-'))
  try {
    return await work(path)
  } finally {
    await rm(path, { recursive: true, force: true })
  }
}

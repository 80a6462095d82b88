import { parseJob } from '../../src/config/load-job.ts'
import { runRestoreJob } from '../../src/jobs/restore.ts'
import { systemClock } from '../../src/lib/clock.ts'
import type { RestoreReport } from '../../src/restore/report.ts'
import { restoreBackup } from '../../src/restore/restore-backup.ts'
import type { RestoreOptions } from '../../src/restore/restore-options.ts'
import { openLocation } from '../open-location.ts'
import { plainOptions, recordsOnly } from '../restore/plain-options.ts'
import { openCluster } from './raw-produce.ts'

export interface RestoreSpec {
  servers: string[]
  path: string
  /** Source topic and target topic. */
  mapping: [string, string][]
  options?: Partial<RestoreOptions>
}

/** Restores these topics of the backup `b1` under other names. */
export async function restore(spec: RestoreSpec, signal = new AbortController().signal): Promise<RestoreReport> {
  const { servers, path, mapping, options } = spec
  const cluster = await openCluster({ bootstrapServers: servers })
  const storage = openLocation(path)
  try {
    const topics = { include: mapping.map(([source]) => source), exclude: [] }
    const request = plainOptions({ topics, topicMapping: new Map(mapping), retention: 'hold', ...options })
    const parts = {
      cluster,
      storage,
      clock: systemClock,
      requestTimeoutMs: 20_000,
      onProgress: () => undefined,
      version: '1',
    }
    return await restoreBackup(recordsOnly(request), parts, signal)
  } finally {
    cluster.close()
    await storage.close()
  }
}

export interface RestoreJobSpec {
  servers: readonly string[]
  path: string
  security?: Record<string, unknown>
  /** The job's `restore:`. */
  restore: Record<string, unknown>
}

/** JSON is YAML, so the job goes the way of every job file. */
export function restoreJobText({ servers, path, security, restore: options }: RestoreJobSpec): string {
  return JSON.stringify({
    mode: 'restore',
    backup_id: 'b1',
    target: { bootstrap_servers: servers, ...(security && { security }) },
    storage: { backend: 'filesystem', path },
    restore: options,
  })
}

export function restoreByJob(spec: RestoreJobSpec): Promise<RestoreReport> {
  const job = parseJob(restoreJobText(spec), { source: 'test job', env: process.env, mode: 'restore' })
  return runRestoreJob(job, { onProgress: () => undefined }, new AbortController().signal)
}

import { parseJob } from '../../src/config/load-job.ts'
import { runRestoreJob } from '../../src/jobs/restore.ts'
import type { ProgressEvent } from '../../src/observe/progress.ts'
import { holdBack } from '../e2e/hold-back.ts'

export interface KilledRestore {
  /** The job file. */
  job: string
  /** At the first event of this type. */
  at: ProgressEvent['type']
  /** Records of objects with this in their key are never read. */
  heldBack?: string
}

/** A restore in a separate process, which ends by SIGKILL at an event. Argument: a `KilledRestore` as JSON. */
const { job, at, heldBack } = JSON.parse(process.argv[2] ?? '{}') as KilledRestore
const die = ({ type }: ProgressEvent) => {
  if (type === at) process.kill(process.pid, 'SIGKILL')
  return false
}
const hooks =
  heldBack === undefined ? { onProgress: (event: ProgressEvent) => void die(event) } : holdBack(heldBack, die)
await runRestoreJob(
  parseJob(job, { source: 'test job', env: {}, mode: 'restore' }),
  hooks,
  new AbortController().signal,
)

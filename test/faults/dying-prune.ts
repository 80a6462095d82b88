import { pruneAt } from '../../src/jobs/prune.ts'
import type { JobSpec } from '../e2e/backup-job.ts'
import { withFaults } from '../fakes/faulty-storage.ts'
import { openPlace } from './lab.ts'

/**
 * A prune in a process of its own that dies by SIGKILL at the nth call to its store, or lives and prints how many calls
 * there were. Argument: a JSON object of the job, of the time before which segments are too old, and of when to die.
 */
const { spec, cutoffMs, nth, moment } = JSON.parse(process.argv[2] ?? '{}') as {
  spec: JobSpec
  cutoffMs: number
  nth: number
  moment: 'kill-before' | 'kill-after'
}
const faulty = withFaults(openPlace({ spec, config: '' }), nth > 0 ? [{ nth, effect: { kind: moment } }] : [])
const policy = { match: ['*'], olderThanMs: Date.now() - cutoffMs, graceMs: 0 }
await pruneAt(faulty, policy, { onProgress: () => undefined }, { isDryRun: false }, new AbortController().signal)
process.stdout.write(`${faulty.calls.length}\n`)

import { backUp, type JobSpec } from '../e2e/backup-job.ts'
import { type Fault, withFaults } from '../fakes/faulty-storage.ts'

/**
 * A backup in a process of its own that dies by SIGKILL at the nth call to its store, or lives and prints how many calls
 * there were. Argument: a JSON object of the job and of when to die.
 */
const { spec, nth, moment } = JSON.parse(process.argv[2] ?? '{}') as {
  spec: JobSpec
  nth: number
  moment: 'kill-before' | 'kill-after'
}
/** Objects take their time to appear, so that a step that does not wait for them is found out by the death after it. */
const slowEffects: Fault[] = [
  { on: 'commit', effect: { kind: 'delay', ms: 400 } },
  { on: 'create', key: /index/, effect: { kind: 'delay', ms: 100 } },
]
let calls: readonly unknown[] = []
await backUp(spec, {
  decorateStorage: storage => {
    const faulty = withFaults(storage, [...slowEffects, ...(nth > 0 ? [{ nth, effect: { kind: moment } }] : [])])
    calls = faulty.calls
    return faulty
  },
})
process.stdout.write(`${calls.length}\n`)

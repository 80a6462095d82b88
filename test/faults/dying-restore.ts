import { type RestoreSpec, restore } from '../e2e/restore-job.ts'

/**
 * A restore in a process of its own, for somebody to kill. Argument: a JSON object of what to restore. It prints one line
 * when it begins, and its report when it is done.
 */
const { bytesPerSecond, batchBytes, ...spec } = JSON.parse(process.argv[2] ?? '{}') as RestoreSpec & {
  bytesPerSecond: number
  batchBytes: number
}
process.stdout.write('begun\n')
const { wasComplete, topics } = await restore({
  ...spec,
  options: { bytesPerSecond, batchBytes, commitIntervalMs: 100, retention: 'hold' },
})
process.stdout.write(
  `${JSON.stringify({ wasComplete, records: topics.reduce((sum, { records }) => sum + records, 0) })}\n`,
)

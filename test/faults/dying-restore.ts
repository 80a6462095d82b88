import { type RestoreSpec, restore } from '../e2e/restore-job.ts'

/**
 * A restore in a process of its own, for somebody to kill. Argument: a JSON object of what to restore. It prints one line
 * when it begins, and its report when it is done.
 */
const { bytesPerSecond, batchBytes, byKey, ...spec } = JSON.parse(process.argv[2] ?? '{}') as RestoreSpec & {
  bytesPerSecond: number
  batchBytes: number
  /** By topic, into how many partitions. */
  byKey?: Record<string, number>
}
const placed = byKey && { repartition: 'by_key' as const, partitionCount: new Map(Object.entries(byKey)) }
process.stdout.write('begun\n')
const { wasComplete, topics } = await restore({
  ...spec,
  options: { bytesPerSecond, batchBytes, commitIntervalMs: 100, retention: 'hold', ...placed },
})
process.stdout.write(
  `${JSON.stringify({ wasComplete, records: topics.reduce((sum, { records }) => sum + records, 0) })}\n`,
)

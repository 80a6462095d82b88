import { readFile } from 'node:fs/promises'

/** A backup through the compiled library as one process, which counts its requests and its time with the store. */
const { parseJob } = (await import(
  '../dist/config/load-job.js' as string
)) as typeof import('../src/config/load-job.ts')
const { runBackupJob } = (await import('../dist/jobs/backup.js' as string)) as typeof import('../src/jobs/backup.ts')
const config = process.argv[2] ?? ''
const job = parseJob(await readFile(config, 'utf8'), { source: config, env: {}, mode: 'backup' })
const calls: [start: number, end: number][] = []
let requests = 0
const startedAt = performance.now()
await runBackupJob(
  job,
  {
    onProgress: () => undefined,
    onRequest: () => {
      requests++
    },
    onStorageCall: ({ ms }) => {
      const now = performance.now()
      calls.push([now - ms, now])
    },
  },
  new AbortController().signal,
)
const wallMs = performance.now() - startedAt
process.stdout.write(JSON.stringify({ wallMs, requests, storageMs: lengthOfUnion(calls) }))

/** How long at least one of the calls was under way. */
function lengthOfUnion(spans: [number, number][]): number {
  let total = 0
  let reached = 0
  for (const [start, end] of spans.toSorted((a, b) => a[0] - b[0])) {
    total += Math.max(0, end - Math.max(start, reached))
    reached = Math.max(reached, end)
  }
  return total
}

import type { Clock } from '../lib/clock.ts'
import type { Listener } from '../lib/listen.ts'
import { formatDuration } from '../lib/units.ts'
import { openHttpListener, text } from './http-server.ts'
import { JobMetrics, type MeasuredCall } from './job-metrics.ts'
import { JobProgress } from './job-progress.ts'
import type { ProgressEvent } from './progress.ts'

interface JobListenerOptions {
  /** `host:port` */
  listen: string
  /** What runs: `backup`, `verify` and so on. */
  job: string
  backupId: string
  version: string
  clock: Pick<Clock, 'now' | 'monotonic'>
  /** Of a continuous run: the maximum age of the last successful round while it is ready. */
  maxRoundAgeMs?: number | undefined
}

interface JobListener extends Listener {
  onProgress(event: ProgressEvent): void
  onStorageCall(call: MeasuredCall): void
}

/** What was asked for has answered, and there is something to do. */
const signsOfWork = new Set<ProgressEvent['type']>(['planned', 'checked', 'schemas', 'schemas_read'])

/** Serves the metrics of one running job, how far it is, and whether it is alive and at work. */
export async function openJobListener(options: JobListenerOptions): Promise<JobListener> {
  const metrics = new JobMetrics({ ...options, now: options.clock.now })
  const progress = new JobProgress(options)
  const { clock, maxRoundAgeMs } = options
  let isPlanned = false
  let lastRoundMs: number | undefined
  const readiness = () => {
    if (maxRoundAgeMs === undefined) return isPlanned ? undefined : 'the job has not planned its work yet'
    if (lastRoundMs === undefined) return 'no round has succeeded yet'
    const ageMs = clock.monotonic() - lastRoundMs
    return ageMs <= maxRoundAgeMs ? undefined : `no round has succeeded for ${formatDuration(ageMs)}`
  }
  const [, ip, name, port] = /^(?:\[(.+)\]|(.+)):(\d+)$/.exec(options.listen) ?? []
  const listener = await openHttpListener(
    { host: ip ?? name ?? '', port: Number(port), field: 'metrics.listen' },
    {
      '/metrics': async () => ({ status: 200, contentType: metrics.contentType, body: await metrics.format() }),
      '/progress': async () => ({ status: 200, contentType: 'application/json', body: progress.format() }),
      '/healthz': async () => text(200, 'ok'),
      '/readyz': async () => {
        const reason = readiness()
        return reason === undefined ? text(200, 'ok') : text(503, reason)
      },
    },
  )
  return {
    ...listener,
    onStorageCall: call => metrics.onStorageCall(call),
    onProgress: event => {
      if (signsOfWork.has(event.type)) isPlanned = true
      if (event.type === 'round' && event.ok) lastRoundMs = clock.monotonic()
      metrics.onProgress(event)
      progress.onProgress(event)
    },
  }
}

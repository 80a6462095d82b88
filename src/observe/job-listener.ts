import { type HttpListener, openHttpListener, text } from './http-server.ts'
import { JobMetrics, type MeasuredCall } from './job-metrics.ts'
import type { ProgressEvent } from './progress.ts'

export interface JobListenerOptions {
  /** `host:port` */
  listen: string
  backupId: string
  version: string
  now: () => number
}

export interface JobListener extends HttpListener {
  onProgress(event: ProgressEvent): void
  onStorageCall(call: MeasuredCall): void
}

/** Serves the metrics of one running job, and whether it is alive and at work. */
export async function openJobListener(options: JobListenerOptions): Promise<JobListener> {
  const metrics = new JobMetrics(options)
  let isPlanned = false
  const [, ip, name, port] = /^(?:\[(.+)\]|(.+)):(\d+)$/.exec(options.listen) ?? []
  const listener = await openHttpListener(
    { host: ip ?? name ?? '', port: Number(port), field: 'metrics.listen' },
    {
      '/metrics': async () => ({ status: 200, contentType: metrics.contentType, body: await metrics.format() }),
      '/healthz': async () => text(200, 'ok'),
      '/readyz': async () =>
        isPlanned ? text(200, 'ok') : text(503, 'the cluster is being asked what there is to copy'),
    },
  )
  return {
    ...listener,
    onStorageCall: call => metrics.onStorageCall(call),
    onProgress: event => {
      if (event.type === 'planned') isPlanned = true
      metrics.onProgress(event)
    },
  }
}

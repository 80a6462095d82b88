import type { Listener } from '../../lib/listen.ts'
import { openHttpListener, type Page } from '../../observe/http-server.ts'
import type { Health, HealthPage } from './health.ts'

interface ListenAddress {
  host: string
  port: number
}

export interface ListenerOptions {
  health: ListenAddress
  metrics: (ListenAddress & { path: string }) | undefined
}

/** What `/metrics` answers with. */
interface Exposition {
  readonly contentType: string
  format(): Promise<string>
}

/** Serves the probes and, where they are wanted, the metrics; on one port where both have the same address. */
export async function openListeners(
  options: ListenerOptions,
  health: Health,
  exposition: Exposition,
): Promise<Listener[]> {
  const probes = { '/healthz': probe(() => health.live()), '/readyz': probe(() => health.ready()) }
  const { metrics } = options
  if (metrics === undefined) return [await open(options.health, '--health-address', probes)]
  const page: Page = async () => ({
    status: 200,
    contentType: exposition.contentType,
    body: await exposition.format(),
  })
  const measured = { [metrics.path]: page }
  const isShared = metrics.port !== 0 && metrics.port === options.health.port && metrics.host === options.health.host
  if (isShared) return [await open(options.health, '--health-address', { ...measured, ...probes })]
  const first = await open(options.health, '--health-address', probes)
  try {
    return [first, await open(metrics, '--metrics-address', measured)]
  } catch (error) {
    await first.close()
    throw error
  }
}

function open(address: ListenAddress, field: string, pages: Record<string, Page>): Promise<Listener> {
  return openHttpListener({ ...address, field }, pages)
}

function probe(ask: () => HealthPage): Page {
  return async () => {
    const { isOk, body } = ask()
    return { status: isOk ? 200 : 503, contentType: 'application/json', body: `${JSON.stringify(body)}\n` }
  }
}

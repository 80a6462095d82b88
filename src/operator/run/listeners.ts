import { readFile } from 'node:fs/promises'
import { KafkaBackupError, usageError } from '../../errors.ts'
import type { CertificateSource, Listener } from '../../lib/listen.ts'
import { type Guard, openHttpListener, type Page } from '../../observe/http-server.ts'
import type { Health, HealthPage } from './health.ts'

interface ListenAddress {
  host: string
  port: number
}

export interface ListenerOptions {
  health: ListenAddress
  metrics: (ListenAddress & { path: string; tls?: TlsPaths; needsToken?: boolean }) | undefined
}

/** PEM files. */
interface TlsPaths {
  cert: string
  key: string
}

export interface ListenerParts extends Pick<CertificateSource, 'clock' | 'onFailure'> {
  /** Who may read the metrics, where a token is needed. */
  guard: Guard
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
  parts: ListenerParts,
): Promise<Listener[]> {
  const probes = { '/healthz': probe(() => health.live()), '/readyz': probe(() => health.ready()) }
  const { metrics } = options
  if (metrics === undefined) return [await open(options.health, '--health-address', probes)]
  const page: Page = async () => ({
    status: 200,
    contentType: exposition.contentType,
    body: await exposition.format(),
  })
  const { tls, needsToken = false, path, ...address } = metrics
  const measured = { [path]: page }
  const isShared = metrics.port !== 0 && metrics.port === options.health.port && metrics.host === options.health.host
  if (isShared && (tls || needsToken)) {
    const message =
      '--metrics-address: choose another address than --health-address, whose probes use plain HTTP without a token'
    throw usageError(message)
  }
  if (isShared) return [await open(options.health, '--health-address', { ...measured, ...probes })]
  const first = await open(options.health, '--health-address', probes)
  try {
    const secured = {
      ...(tls && { tls: await readCertificate(tls, parts) }),
      ...(needsToken && { guard: parts.guard }),
    }
    return [first, await openHttpListener({ ...address, field: '--metrics-address', ...secured }, measured)]
  } catch (error) {
    await first.close()
    throw error
  }
}

function open(address: ListenAddress, field: string, pages: Record<string, Page>): Promise<Listener> {
  return openHttpListener({ ...address, field }, pages)
}

async function readCertificate({ cert, key }: TlsPaths, parts: ListenerParts): Promise<CertificateSource> {
  const read = async () => ({ cert: await readFile(cert, 'utf8'), key: await readFile(key, 'utf8') })
  const { clock, onFailure } = parts
  try {
    return { files: await read(), read, clock, onFailure }
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new KafkaBackupError('CONFIG_UNREADABLE', `--metrics-tls-cert, --metrics-tls-key: ${reason}`, { cause })
  }
}

function probe(ask: () => HealthPage): Page {
  return async () => {
    const { isOk, body } = ask()
    return { status: isOk ? 200 : 503, contentType: 'application/json', body: `${JSON.stringify(body)}\n` }
  }
}

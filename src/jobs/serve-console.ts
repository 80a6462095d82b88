import { type ConsoleOptions, type ConsoleServer, openConsoleServer } from '../console/open-console-server.ts'
import { isLoopbackHost, parseHost } from '../console/request-gate.ts'
import { KafkaBackupError } from '../errors.ts'
import type { Storage } from '../storage/storage.ts'
import { readTlsFiles } from './tls-files.ts'

export interface ServedConsole extends Omit<ConsoleOptions, 'locations' | 'tls' | 'readTls' | 'limits'> {
  /** Open, and closed by the caller. */
  storages: readonly Storage[]
  /** Paths of PEM files. */
  tls?: { cert: string; key: string } | undefined
}

/** Shorter ones can be guessed. */
const MIN_TOKEN_CHARS = 16

/** Serves the console until it is closed. Refuses an address that others reach without a token and TLS. */
export async function openConsole({ storages, tls, ...options }: ServedConsole): Promise<ConsoleServer> {
  refuseOpenAddress(options.host, { hasToken: options.token !== undefined, hasTls: tls !== undefined })
  if (options.token !== undefined && options.token.length < MIN_TOKEN_CHARS) {
    throw new KafkaBackupError('USAGE', `the token of the console has fewer than ${MIN_TOKEN_CHARS} characters`, {
      help: 'Create one with `openssl rand -hex 24`, and set the environment variable that --token-env names.',
    })
  }
  const wrong = options.allowedHosts.find(one => !parseHost(one))
  if (wrong !== undefined) {
    throw new KafkaBackupError(
      'USAGE',
      `--allowed-host ${JSON.stringify(wrong)} is not a host name, or one with a port`,
      {
        help: 'Give it as the address bar of the browser shows it, such as console.example or console.example:8443.',
      },
    )
  }
  const readTls = tls && (() => readTlsFiles(tls))
  const locations = storages.map(storage => ({ name: storage.location, storage }))
  return openConsoleServer({ ...options, locations, tls: await readTls?.(), readTls })
}

/** Pure. Records are as confidential as their topics: no one on the network reads them without a token, nor on the way. */
export function refuseOpenAddress(host: string, { hasToken, hasTls }: { hasToken: boolean; hasTls: boolean }): void {
  if (isLoopbackHost(host) || (hasToken && hasTls)) return
  const missing = [
    ...(hasToken ? [] : ['a token (--token-env)']),
    ...(hasTls ? [] : ['TLS (--tls-cert and --tls-key)']),
  ]
  const message = `--listen ${host} can be reached from other machines and needs ${missing.join(' and ')}`
  const help = 'Or listen on 127.0.0.1, and use a tunnel, a port-forward or a proxy on this machine.'
  throw new KafkaBackupError('USAGE', message, { help })
}

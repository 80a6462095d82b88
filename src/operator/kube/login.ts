import { readFile, stat } from 'node:fs/promises'
import { Agent } from 'node:https'
import { KafkaBackupError } from '../../errors.ts'
import type { KubeCredentials, Secret } from './credentials.ts'
import { type ExecCommand, type ExecCredential, runExecCommand } from './exec-credential.ts'
import { closeIdle } from './https-exchange.ts'

interface Login {
  /** The credentials of the next request. Changed files are read again; open connections continue. */
  current(): Promise<{ agent: Agent; headers: Record<string, string> }>
  close(): void
}

export function openLogin(access: KubeCredentials, now: () => number): Login {
  const token = openSecret(access.token, 'token')
  const exec = openExec(access.exec, now)
  const parts = [
    openSecret(access.ca, 'certificate authority'),
    openSecret(access.clientCert, 'client certificate'),
    openSecret(access.clientKey, 'client key'),
  ]
  let made: { agent: Agent; from: string } | undefined
  return {
    current: async () => {
      const [given, ca, ownCert, ownKey] = await Promise.all([token(), ...parts.map(read => read())])
      const printed = await exec()
      const { token: bearer = given, clientCert: cert = ownCert, clientKey: key = ownKey } = printed
      const from = JSON.stringify([ca, cert, key])
      if (made?.from !== from) {
        closeIdle(made?.agent)
        made = { agent: openAgent(access.serverName, { ca, cert, key }), from }
      }
      return { agent: made.agent, headers: bearer === undefined ? {} : { authorization: `Bearer ${bearer.trim()}` } }
    },
    close: () => made?.agent.destroy(),
  }
}

/** A credential that is about to expire is renewed. */
const RENEWAL_MS = 60_000

function openExec(command: ExecCommand | undefined, now: () => number): () => Promise<ExecCredential> {
  if (command === undefined) return async () => ({})
  let known: Promise<ExecCredential> | undefined
  return async () => {
    const current = known ?? runExecCommand(command)
    known = current
    const { expiresMs, ...credential } = await current.catch(error => {
      if (known === current) known = undefined
      throw error
    })
    if (expiresMs === undefined || expiresMs - now() >= RENEWAL_MS) return credential
    if (known === current) known = runExecCommand(command)
    return known
  }
}

type Pem = string | undefined

function openAgent(serverName: string | undefined, { ca, cert, key }: { ca: Pem; cert: Pem; key: Pem }): Agent {
  return new Agent({
    keepAlive: true,
    timeout: 0,
    minVersion: 'TLSv1.2',
    // Explicit, so no environment variable can turn it off.
    rejectUnauthorized: true,
    ...(serverName !== undefined && { servername: serverName }),
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
  })
}

function openSecret(secret: Secret | undefined, what: string): () => Promise<string | undefined> {
  if (secret === undefined) return async () => undefined
  if ('text' in secret) return async () => secret.text
  const { file } = secret
  let read: { version: string; text: string } | undefined
  return async () => {
    try {
      const { mtimeMs, size, ino } = await stat(file)
      const version = `${mtimeMs} ${size} ${ino}`
      if (read?.version !== version) read = { version, text: await readFile(file, 'utf8') }
    } catch (cause) {
      // A mounted secret is replaced by a rename: keep the previous text for that moment.
      if (read === undefined) throw new KafkaBackupError('KUBE_CONFIG', `cannot read the ${what} ${file}`, { cause })
    }
    return read?.text
  }
}

import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { KafkaBackupError } from '../../errors.ts'

/** A program of a kubeconfig that prints credentials, as those of cloud providers do. */
export interface ExecCommand {
  apiVersion: string
  command: string
  args: readonly string[]
  env: Readonly<Record<string, string>>
}

export interface ExecCredential {
  token?: string
  clientCert?: string
  clientKey?: string
  /** Undefined if it is valid until the process ends. */
  expiresMs?: number
}

/** Runs the program, which may ask on the terminal. `KUBE_CONFIG` if it fails or prints something else. */
export async function runExecCommand(exec: ExecCommand, env: NodeJS.ProcessEnv = process.env): Promise<ExecCredential> {
  const { apiVersion, command, args } = exec
  const info = { apiVersion, kind: 'ExecCredential', spec: { interactive: process.stdin.isTTY === true } }
  const child = spawn(command, args, {
    stdio: ['inherit', 'pipe', 'inherit'],
    env: { ...env, ...exec.env, KUBERNETES_EXEC_INFO: JSON.stringify(info) },
  })
  const ended = new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve))
  const [code, printed] = await Promise.all([ended, text(child.stdout)]).catch(cause => {
    throw refuse(command, `cannot be started (${cause instanceof Error ? cause.message : cause})`, cause)
  })
  if (code !== 0) throw refuse(command, `failed with exit code ${code}`)
  return parseCredential(printed, command)
}

export function parseCredential(printed: string, command: string): ExecCredential {
  let status: Record<string, unknown> | undefined
  try {
    status = (JSON.parse(printed) as { status?: Record<string, unknown> }).status
  } catch {
    // The cause would quote what was printed, which may be a token.
    throw refuse(command, 'did not print JSON')
  }
  const of = (name: string) => (typeof status?.[name] === 'string' && status[name] !== '' ? status[name] : undefined)
  const [token, clientCert, clientKey] = [of('token'), of('clientCertificateData'), of('clientKeyData')]
  const expiresMs = Date.parse(of('expirationTimestamp') ?? '')
  if (token === undefined && (clientCert === undefined || clientKey === undefined)) {
    throw refuse(command, 'printed neither a token nor a client certificate with its key')
  }
  return {
    ...(token !== undefined && { token }),
    ...(clientCert !== undefined && { clientCert }),
    ...(clientKey !== undefined && { clientKey }),
    ...(!Number.isNaN(expiresMs) && { expiresMs }),
  }
}

function refuse(command: string, why: string, cause?: unknown): KafkaBackupError {
  return new KafkaBackupError(
    'KUBE_CONFIG',
    `the program ${command}, which the kubeconfig names for the login, ${why}`,
    {
      cause,
      help: 'Run `kubectl get namespaces` with the same context: it runs the same program.',
    },
  )
}

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { type DriverMessage, onMessage, writeMessage } from './driver-wire.ts'
import { makeGuardedFolder, spawnGuarded } from './guard.ts'
import { logFlags, quickStartFlags } from './kafka-dist.ts'

export interface DriverAnswer {
  result: unknown
  /** The payloads of all parts and of the result. */
  payloads: Buffer[]
}

export interface DriverProcess {
  call(op: string, request: Record<string, unknown>, payload?: readonly Buffer[]): Promise<DriverAnswer>
  close(): Promise<void>
}

/** The official client refused or failed; `name` is the class of its exception. */
export class DriverError extends Error {
  constructor(name: string, message: string) {
    super(message)
    this.name = name
  }
}

interface PendingCall {
  payloads: Buffer[]
  resolve(answer: DriverAnswer): void
  reject(error: Error): void
}

/** Where requests go, and where answers come from. */
export interface DriverPipes {
  requests: Writable
  answers: Readable
  /** Resolves to the reason when no more answers will come. */
  ended: Promise<string>
}

/** Calls over pipes; they keep this process alive only while a call is under way. */
export function callOver({ requests, answers, ended }: DriverPipes): DriverProcess['call'] {
  const pending = new Map<number, PendingCall>()
  const keepAlive = () => setAlive([requests, answers], pending.size > 0)
  let calls = 0
  let reason: string | undefined

  keepAlive()
  requests.on('error', () => {})
  onMessage(answers, message => {
    settle(pending, message)
    keepAlive()
  })
  void ended.then(why => {
    reason = why
    for (const call of pending.values()) call.reject(new Error(why))
    pending.clear()
  })
  return (op, request, payload = []) =>
    new Promise((resolve, reject) => {
      if (reason !== undefined) return reject(new Error(reason))
      const id = ++calls
      pending.set(id, { payloads: [], resolve, reject })
      keepAlive()
      writeMessage(requests, { ...request, id, op }, payload)
    })
}

/** Starts the Java process; it does not keep this process alive unless a call is under way. */
export async function openDriverProcess(jvmFlags: readonly string[], settings: string[]): Promise<DriverProcess> {
  const java = await startDriverProcess(jvmFlags, settings)
  return { call: callOver(java), close: java.close }
}

export async function startDriverProcess(
  jvmFlags: readonly string[],
  settings: string[],
): Promise<DriverPipes & { pid: number; close(): Promise<void> }> {
  const folder = await makeGuardedFolder('driver')
  const logFile = join(folder.path, 'driver.log')
  const jvm = [...quickStartFlags, '-Xmx1g', `-Djava.io.tmpdir=${folder.path}`, ...logFlags, ...jvmFlags]
  const java = spawnGuarded('java', [...jvm, 'KafkaDriver', ...settings], { logFile, piped: true })
  const { stdin, stdout } = java.child
  if (stdin === null || stdout === null) throw new Error('the driver has no pipes')
  const ended = java.exited.then(async () => {
    const log = await readFile(logFile, 'utf8').catch(() => '')
    return `the Kafka driver has exited:\n${log.slice(-4000)}`
  })
  const close = async () => {
    stdin.end()
    java.child.ref()
    const patience = setTimeout(() => java.signal('SIGKILL'), 30_000)
    await java.exited
    clearTimeout(patience)
    await folder.remove()
  }
  return { pid: java.pid, requests: stdin, answers: stdout, ended, close }
}

function settle(pending: Map<number, PendingCall>, { json, payload }: DriverMessage): void {
  const id = Number(json.id)
  const call = pending.get(id)
  if (call === undefined) return
  if (payload.length > 0) call.payloads.push(payload)
  if (json.more === true) return
  pending.delete(id)
  if (json.error === undefined) call.resolve({ result: json.result, payloads: call.payloads })
  else call.reject(new DriverError(String(json.errorName), String(json.error)))
}

/** Pipes of child processes are sockets, which can be kept from holding the process. */
function setAlive(pipes: (Readable | Writable)[], alive: boolean): void {
  for (const pipe of pipes as unknown as { ref(): void; unref(): void }[]) alive ? pipe.ref() : pipe.unref()
}

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { type DriverMessage, onMessage, writeMessage } from './driver-wire.ts'
import { makeGuardedFolder, spawnGuarded } from './guard.ts'
import { logFlags, steadyFlags } from './kafka-dist.ts'

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

/** Starts the Java process; it does not keep this process alive unless a call is under way. */
export async function openDriverProcess(jvmFlags: readonly string[], settings: string[]): Promise<DriverProcess> {
  const folder = await makeGuardedFolder('driver')
  const logFile = join(folder.path, 'driver.log')
  const jvm = [...steadyFlags, '-Xmx1g', `-Djava.io.tmpdir=${folder.path}`, ...logFlags, ...jvmFlags]
  const java = spawnGuarded('java', [...jvm, 'KafkaDriver', ...settings], { logFile, piped: true })
  const { stdin, stdout } = java.child
  if (stdin === null || stdout === null) throw new Error('the driver has no pipes')
  const pending = new Map<number, PendingCall>()
  const keepAlive = () => setAlive([stdin, stdout], pending.size > 0)
  let calls = 0

  keepAlive()
  stdin.on('error', () => {})
  onMessage(stdout, message => {
    settle(pending, message)
    keepAlive()
  })
  void java.exited.then(async () => {
    const log = await readFile(logFile, 'utf8').catch(() => '')
    for (const call of pending.values()) call.reject(new Error(`the Kafka driver has exited:\n${log.slice(-4000)}`))
    pending.clear()
  })
  return {
    call: (op, request, payload = []) =>
      new Promise((resolve, reject) => {
        if (java.hasExited()) return reject(new Error('the Kafka driver has exited'))
        const id = ++calls
        pending.set(id, { payloads: [], resolve, reject })
        keepAlive()
        writeMessage(stdin, { ...request, id, op }, payload)
      }),
    close: async () => {
      stdin.end()
      java.child.ref()
      const patience = setTimeout(() => java.signal('SIGKILL'), 30_000)
      await java.exited
      clearTimeout(patience)
      await folder.remove()
    },
  }
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

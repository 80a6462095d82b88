import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { countCpuOf } from '../cpu-seconds.ts'
import { type Apicurio, startApicurio } from './apicurio.ts'
import { onMessage, writeMessage } from './driver-wire.ts'
import { makeGuardedFolder } from './guard.ts'

/**
 * Registries that test files use one after the other: the start of one takes four CPU seconds, and its first requests take several times
 * as long as later ones. A file has its registry for itself, and finds it empty; only its IDs continue from those of the file before. What
 * cannot be emptied is replaced.
 */
export interface ApicurioLender {
  /** Where `shareApicurio` finds it. */
  socket: string
  close(): Promise<void>
}

export async function openApicurioLender(): Promise<ApicurioLender> {
  const folder = await makeGuardedFolder('apicurio-lender')
  const socket = join(folder.path, 'lender.sock')
  const idle: Apicurio[] = []
  const all = new Set<Apicurio>()
  const borrowers = new Set<Socket>()
  // A borrower has left when the registry is empty, so that the next file finds it.
  const server = createServer({ allowHalfOpen: true }, borrower => {
    borrowers.add(borrower)
    borrower.once('close', () => borrowers.delete(borrower))
    void lend(borrower, idle, all).catch(error => {
      process.stderr.write(`no registry to lend: ${error.stack}\n`)
      borrower.destroy()
    })
  })
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(socket, resolve))
  const close = async () => {
    server.close()
    for (const borrower of borrowers) borrower.destroy()
    await Promise.all([...all].map(one => one.stop()))
    await folder.remove()
  }
  return { socket, close }
}

async function lend(borrower: Socket, idle: Apicurio[], all: Set<Apicurio>): Promise<void> {
  borrower.on('error', () => {}).resume()
  const left = Promise.race([once(borrower, 'end'), once(borrower, 'close')])
  const one = idle.pop() ?? (await startApicurio())
  all.add(one)
  const { url, origin, version, pid } = one
  writeMessage(borrower, { loan: { url, origin, version, pid } satisfies Loan }, [])
  await left
  const problem = await empty(one).catch((error: Error) => error.message)
  if (problem === undefined) idle.push(one)
  else {
    process.stderr.write(`a shared registry is replaced: ${problem}\n`)
    all.delete(one)
    await one.stop()
  }
  borrower.end()
}

/** Answers with what is left, if anything is. */
async function empty({ origin }: Apicurio): Promise<string | undefined> {
  const api = `${origin}/apis/registry/v3`
  for (const path of ['/groups/default/artifacts', '/admin/rules']) {
    const { ok, status } = await fetch(`${api}${path}`, { method: 'DELETE' })
    // It does not know a group that never had an artifact.
    if (!ok && status !== 404) return `DELETE ${path} answered ${status}`
  }
  const read = async (path: string) => (await fetch(`${api}${path}`)).text()
  const found = [await read('/search/artifacts'), await read('/groups'), await read('/admin/rules')].join()
  return found === '{"artifacts":[],"count":0},{"groups":[],"count":0},[]' ? undefined : `it still has ${found}`
}

type Loan = Pick<Apicurio, 'url' | 'origin' | 'version' | 'pid'>

/** An empty registry: one of the lender of `make e2e`, or a new one for a file that runs alone. */
export async function shareApicurio(): Promise<Apicurio> {
  const lender = process.env.APICURIO_LENDER
  return lender === undefined ? startApicurio() : borrowApicurio(lender)
}

/** It is given back when it is stopped, or with the process. */
export async function borrowApicurio(socket: string): Promise<Apicurio> {
  const pipe = connect(socket)
  const closed = once(pipe, 'close')
  const loan = await new Promise<Loan>((resolve, reject) => {
    pipe.once('error', reject)
    void closed.then(() => reject(new Error('the lender has no registry')))
    onMessage(pipe, ({ json }) => resolve(json.loan as Loan))
  })
  pipe.on('error', () => {})
  pipe.unref()
  const stopCounting = countCpuOf([loan.pid])
  const stop = async () => {
    stopCounting()
    pipe.ref()
    pipe.end()
    await closed
  }
  return { ...loan, stop, [Symbol.asyncDispose]: stop }
}

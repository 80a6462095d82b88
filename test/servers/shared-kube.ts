import { copyFile } from 'node:fs/promises'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { onMessage, writeMessage } from './driver-wire.ts'
import { makeGuardedFolder } from './guard.ts'
import { describeKube, type Kube, type KubeServers, startKube } from './kube.ts'
import { openKubeApi } from './kube-api.ts'
import { operatorDefinitions } from './operator-access.ts'

/**
 * A control plane that test files use at the same time, each in namespaces of its own: its start takes more CPU time
 * than most tests with it. What a file leaves behind stays there, and no one looks at it.
 */
export interface KubeLender {
  /** Where `shareKube` finds it. */
  socket: string
  close(): Promise<void>
}

/** Without a borrower it ends after this time, since it is never idle; its start takes more CPU time than this much waiting. */
const IDLE_MS = 60_000

export async function openKubeLender({ idleMs = IDLE_MS } = {}): Promise<KubeLender> {
  const folder = await makeGuardedFolder('kube-lender')
  const socket = join(folder.path, 'lender.sock')
  let running: Promise<Kube> | undefined
  let borrowers = 0
  let idle: NodeJS.Timeout | undefined
  const stop = async () => {
    const ended = running
    running = undefined
    await (await ended)?.stop()
  }
  const lend = async (borrower: Socket) => {
    borrowers++
    clearTimeout(idle)
    borrower.on('error', () => {}).resume()
    borrower.once('close', () => {
      borrowers--
      if (borrowers === 0) idle = setTimeout(() => void stop(), idleMs).unref()
    })
    running ??= startKube({ manifests: operatorDefinitions() })
    const { url, port, etcdUrl, ca, admin, authority, pids } = await running
    const loan: KubeServers = { url, port, etcdUrl, ca, admin, authority, pids }
    writeMessage(borrower, { loan }, [])
  }
  const server = createServer(borrower => {
    void lend(borrower).catch(error => {
      process.stderr.write(`no control plane to lend: ${error.stack}\n`)
      running = undefined
      borrower.destroy()
    })
  })
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(socket, resolve))
  const close = async () => {
    server.close()
    clearTimeout(idle)
    await stop()
    await folder.remove()
  }
  return { socket, close }
}

/**
 * A control plane with the operator's definitions. `make e2e` lends one to several files at once; a file that runs alone
 * starts its own. Tests that change what others see, such as nodes or roles for everyone, use `startKube`.
 */
export async function shareKube(): Promise<Kube> {
  const lender = process.env.KUBE_LENDER
  return lender === undefined ? startKube({ manifests: operatorDefinitions() }) : borrowKube(lender)
}

async function borrowKube(socket: string): Promise<Kube> {
  const folder = await makeGuardedFolder('kube-loan')
  const pipe = connect(socket)
  const servers = await new Promise<KubeServers>((resolve, reject) => {
    pipe.once('error', reject).once('close', () => reject(new Error('the lender has no control plane')))
    onMessage(pipe, ({ json }) => resolve(json.loan as KubeServers))
  })
  pipe.on('error', () => {})
  pipe.unref()
  // A signature counts up a file next to the key, which others would count up at the same time.
  const [cert, key] = [join(folder.path, 'authority.pem'), join(folder.path, 'authority.key')]
  await copyFile(servers.authority.cert, cert)
  await copyFile(servers.authority.key, key)
  const authority = { ...servers.authority, cert, key }
  const api = openKubeApi(servers.admin)
  const described = describeKube({ ...servers, authority }, api, folder.path)
  const namespaces = new Set<string>()
  const stop = async () => {
    api.close()
    pipe.destroy()
    await folder.remove()
  }
  return {
    ...described,
    makeNamespace: async (prefix, labels) => {
      const name = await described.makeNamespace(prefix, labels)
      namespaces.add(name)
      return name
    },
    isOwn: namespace => namespaces.has(namespace),
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

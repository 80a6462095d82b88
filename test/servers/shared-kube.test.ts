import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startKubelet } from './kubelet.ts'
import type { Pod } from './kubelet-pod-spec.ts'
import { type KubeLender, openKubeLender, shareKube } from './shared-kube.ts'
import { createPod, messageOf, runPod, shell } from './use-kube.ts'

let lender: KubeLender
before(async () => {
  lender = await openKubeLender({ idleMs: 0 })
  process.env.KUBE_LENDER = lender.socket
})
after(async () => {
  delete process.env.KUBE_LENDER
  await lender?.close()
})

const isRunning = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

test('two borrowers use one control plane, and each runs the pods of its own namespaces only', async () => {
  await using first = await shareKube()
  await using second = await shareKube()
  assert.deepEqual(first.pids, second.pids)
  await using kubelet = await startKubelet(first)
  const [own, foreign] = [await first.makeNamespace('first'), await second.makeNamespace('second')]
  const waiting = await createPod({ kube: second, kubelet }, foreign, { containers: [shell('true')] })
  const script = 'printf mine > /dev/termination-log'
  const ended = await runPod({ kube: first, kubelet }, own, { containers: [shell(script)] })
  assert.equal(messageOf(ended), 'mine')
  assert.equal((await second.api.get<Pod>(waiting)).spec.nodeName, undefined)
  await using other = await startKubelet(second)
  await second.api.wait<Pod>(waiting, ({ spec }) => spec.nodeName === other.nodeName)
})

test('a user and a service account of each borrower are let in', async () => {
  await using kube = await shareKube()
  const namespace = await kube.makeNamespace('access')
  for (const subject of [{ user: 'somebody' }, { serviceAccount: 'default', namespace }]) {
    const { url, ca } = await kube.credentialsFor(subject)
    assert.deepEqual([url, ca], [kube.url, kube.ca])
  }
})

test('it ends when no one has borrowed it for a while, and the next borrower gets another', async () => {
  const first = await shareKube()
  const { apiServer } = first.pids
  await first.stop()
  while (isRunning(apiServer)) await new Promise(resolve => setTimeout(resolve, 50))
  await using second = await shareKube()
  assert.notEqual(second.pids.apiServer, apiServer)
  await second.makeNamespace('again')
})

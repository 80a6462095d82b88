import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Kube, startKube } from './kube.ts'
import { type KubeApi, openKubeApi } from './kube-api.ts'
import { type KubeFaultProxy, startKubeFaultProxy, type WriteFault } from './kube-fault-proxy.ts'
import { waitFor } from './use-kube.ts'

let kube: Kube
let proxy: KubeFaultProxy
let api: KubeApi
let namespace: string

before(async () => {
  kube = await startKube()
  proxy = await startKubeFaultProxy(kube)
  namespace = await kube.makeNamespace('proxied')
  await kube.api.create({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'proxied' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'ServiceAccount', name: 'default', namespace }],
  })
  api = openKubeApi(proxy.through(await kube.credentialsFor({ serviceAccount: 'default', namespace })))
})
after(async () => {
  api?.close()
  await proxy?.stop()
  await kube?.stop()
})

const mapRef = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', namespace, name })
const makeMap = (name: string) => api.create({ ...mapRef(name), metadata: { name, namespace } })
const isThere = async (name: string) => (await kube.api.find(mapRef(name))) !== undefined

test('writes are numbered, and reach the server with the rights of who sent them', async () => {
  proxy.reset()
  await makeMap('plain')
  await api.get(mapRef('plain'))
  await api.delete(mapRef('plain'))
  assert.deepEqual(
    proxy.writes.map(({ nth, method }) => `${nth} ${method}`),
    ['1 POST', '2 DELETE'],
  )
})

test('a write is answered by the proxy, before the server got it or after', async () => {
  const refuse = (fault: WriteFault) => {
    proxy.reset()
    proxy.onWrite = ({ nth }) => (nth === 1 ? fault : undefined)
  }
  refuse({ moment: 'before', answer: { status: 409 } })
  await assert.rejects(makeMap('refused'), { status: 409, reason: 'Conflict' })
  assert.equal(await isThere('refused'), false)
  refuse({ moment: 'after', answer: { status: 500 } })
  await assert.rejects(makeMap('lied'), { status: 500 })
  assert.equal(await isThere('lied'), true)
  refuse({ moment: 'before', answer: 'cut' })
  await assert.rejects(makeMap('cut'), { code: 'ECONNRESET' })
  let sawIt = false
  const act = async () => {
    sawIt = await isThere('acted')
  }
  refuse({ moment: 'after', answer: 'cut', act })
  await assert.rejects(makeMap('acted'), { code: 'ECONNRESET' })
  assert.equal(sawIt, true)
  await makeMap('after')
})

test('a watch falls silent, and a later one does not', async () => {
  const stop = new AbortController()
  const seen: string[] = []
  const watching = api.watch(
    { apiVersion: 'v1', kind: 'ConfigMap', namespace },
    {},
    ({ object }) => seen.push(object.metadata.name ?? ''),
    stop.signal,
  )
  const hasSeen = (name: string) => waitFor(name, async () => seen.includes(name))
  await makeMap('before-silence')
  await hasSeen('before-silence')
  proxy.weather = 'silent watches'
  await makeMap('in-silence')
  await sleep(200)
  assert.equal(seen.includes('in-silence'), false)
  proxy.weather = 'fine'
  proxy.cut()
  await hasSeen('in-silence')
  stop.abort()
  await watching
})

test('who is cut off gets no answer at all', async () => {
  proxy.weather = 'cut off'
  const answered = makeMap('cut-off').then(
    () => 'an answer',
    () => 'a lost connection',
  )
  assert.equal(await Promise.race([answered, sleep(300, 'silence')]), 'silence')
  proxy.weather = 'fine'
  proxy.cut()
  assert.equal(await answered, 'a lost connection')
  assert.equal(await isThere('cut-off'), false)
})

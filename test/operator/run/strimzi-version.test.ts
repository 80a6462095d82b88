import assert from 'node:assert/strict'
import { test } from 'node:test'
import { strimziKafkaKind } from '../../../src/operator/job/strimzi.ts'
import type { KubeApi } from '../../../src/operator/kube/kube-api.ts'
import { KubeError } from '../../../src/operator/kube/kube-error.ts'
import type { ResourceKind } from '../../../src/operator/kube/object.ts'
import { readNewestKafkas } from '../../../src/operator/run/strimzi-version.ts'

const kind = strimziKafkaKind('auto')
const { signal } = new AbortController()

/** An API server that serves these versions, and what it was asked for. */
function serve(...served: string[]) {
  const asked: string[] = []
  const note = (verb: string, { apiVersion, plural }: ResourceKind) => {
    const [group, version = ''] = apiVersion.split('/')
    asked.push(`${verb} ${plural}.${group}/${version}`)
    if (!served.includes(version)) throw new KubeError('KUBE_NOT_FOUND', 'the page does not exist', { status: 404 })
    return { items: [], resourceVersion: version }
  }
  const api = { list: async (one: ResourceKind) => note('list', one), watch: (one: ResourceKind) => note('watch', one) }
  return { api: readNewestKafkas(api as unknown as KubeApi), asked, served }
}

const watchFrom = { resourceVersion: '1', timeoutMs: 1 }

test('Kafka resources of Strimzi are read in the newest version that the API server serves', async () => {
  const { api, asked } = serve('v1', 'v1beta2')
  assert.equal((await api.list(kind, {}, signal)).resourceVersion, 'v1')
  api.watch(kind, {}, watchFrom, signal)
  assert.deepEqual(asked, ['list kafkas.kafka.strimzi.io/v1', 'watch kafkas.kafka.strimzi.io/v1'])
})

test('an older Strimzi is read in its version, and in the newer one after its upgrade', async () => {
  const { api, asked, served } = serve('v1beta2')
  assert.equal((await api.list(kind, {}, signal)).resourceVersion, 'v1beta2')
  api.watch(kind, {}, watchFrom, signal)
  assert.equal(asked.at(-1), 'watch kafkas.kafka.strimzi.io/v1beta2')
  served.splice(0, 1, 'v1')
  assert.throws(() => api.watch(kind, {}, watchFrom, signal), { code: 'KUBE_NOT_FOUND' })
  assert.equal((await api.list(kind, {}, signal)).resourceVersion, 'v1')
})

test('without Strimzi the versions are named, and another refusal is reported as it is', async () => {
  await assert.rejects(serve().api.list(kind, {}, signal), { code: 'KUBE_NOT_FOUND', message: /versions v1, v1beta2$/ })
  const denied = { list: () => Promise.reject(new KubeError('KUBE_DENIED', 'kafkas is forbidden', { status: 403 })) }
  await assert.rejects(readNewestKafkas(denied as unknown as KubeApi).list(kind, {}, signal), { code: 'KUBE_DENIED' })
})

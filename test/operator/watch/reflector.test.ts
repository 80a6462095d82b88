import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubeApi } from '../../../src/operator/kube/kube-api.ts'
import { KubeError } from '../../../src/operator/kube/kube-error.ts'
import type { KubeObject, ResourceKind } from '../../../src/operator/kube/object.ts'
import { Reflector } from '../../../src/operator/watch/reflector.ts'
import { type Change, formatKey } from '../../../src/operator/watch/store.ts'
import { FakeKube, type WatchFault } from '../../fakes/fake-kube.ts'
import { createRandom } from '../../fakes/faulty-storage.ts'
import { SimulatedTime } from '../../fakes/simulated-time.ts'

const maps: ResourceKind = { apiVersion: 'v1', kind: 'ConfigMap', plural: 'configmaps' }
const minuteMs = 60_000

test('the store contains the existing objects and follows changes', async () => {
  const { kube, time, reflector, changes, stop } = openReflector()
  kube.put(maps, newMap('a'))
  assert.equal(reflector.isSynced, false)
  await time.pass(0)
  assert.equal(reflector.isSynced, true)
  kube.put(maps, newMap('b'))
  kube.put(maps, newMap('a'))
  kube.remove(maps, { namespace: 'one', name: 'b' })
  await time.pass(0)
  assert.deepEqual(
    changes.map(({ key, before, after }) => [key, before !== undefined, after !== undefined]),
    [
      ['one/a', false, true],
      ['one/b', false, true],
      ['one/a', true, true],
      ['one/b', true, false],
    ],
  )
  assert.equal(kube.lists, 1)
  await stop()
})

test('waiting for the first list ends with it, or with the signal', async () => {
  let isDown = true
  const { time, reflector, stop } = openReflector({
    around: async (_, act) => {
      if (isDown) throw new KubeError('KUBE_UNREACHABLE', 'down')
      return act()
    },
  })
  const impatient = new AbortController()
  const given = reflector.waitSynced(impatient.signal).catch((error: Error) => error.message)
  const waited = reflector.waitSynced(new AbortController().signal).then(() => time.ms)
  await time.pass(minuteMs)
  impatient.abort(new Error('enough'))
  assert.equal(await given, 'enough')
  assert.equal(reflector.isSynced, false)
  isDown = false
  await time.pass(minuteMs)
  assert.ok((await waited) > minuteMs)
  await stop()
})

test('the next list detects objects that were removed without a watch', async () => {
  let fault: WatchFault | undefined
  const { kube, time, reflector, changes, stop } = openReflector({ watchFault: () => fault })
  kube.put(maps, newMap('a'))
  kube.put(maps, newMap('b'))
  await time.pass(0)
  fault = 'error'
  kube.nudge()
  await time.pass(0)
  kube.remove(maps, { namespace: 'one', name: 'a' })
  kube.compact()
  fault = undefined
  await time.pass(minuteMs)
  assert.deepEqual(namesOf(reflector.store.list()), ['one/b'])
  assert.deepEqual(changes.at(-1)?.key, 'one/a')
  assert.equal(changes.at(-1)?.after, undefined)
  await stop()
})

const faults: WatchFault[] = ['close', 'gone', 'error', 'cut']
for (const fault of faults) {
  test(`restarts a watch that always ends with "${fault}", with growing delays, and misses nothing`, async () => {
    const { kube, time, reflector, stop } = openReflector({ watchFault: () => fault })
    await time.pass(0)
    kube.put(maps, newMap('a'))
    await time.pass(10 * minuteMs)
    assert.deepEqual(namesOf(reflector.store.list()), ['one/a'])
    assert.ok(kube.watches >= 15, `${kube.watches} watches`)
    assert.ok(kube.watches <= 60, `${kube.watches} watches in ten minutes`)
    assert.ok(kube.lists <= kube.watches)
    await stop()
  })
}

test('a silently dead connection delays changes, and loses none', async () => {
  let isDead = true
  const { kube, time, reflector, stop } = openReflector({ watchFault: () => (isDead ? 'silent' : undefined) })
  await time.pass(0)
  kube.put(maps, newMap('a'))
  await time.pass(10 * minuteMs)
  assert.deepEqual(namesOf(reflector.store.list()), ['one/a'])
  isDead = false
  await time.pass(10 * minuteMs)
  kube.put(maps, newMap('b'))
  await time.pass(0)
  assert.deepEqual(namesOf(reflector.store.list()), ['one/a', 'one/b'])
  assert.ok(kube.watches <= 4)
  await stop()
})

test('a watch that keeps breaking after events continues where it was', async () => {
  let toCut = false
  const { kube, time, reflector, stop } = openReflector({ watchFault: () => (toCut ? 'cut' : undefined) })
  await time.pass(0)
  for (let count = 0; count < 10; count++) {
    await time.pass(minuteMs)
    kube.put(maps, newMap(`map-${count}`))
    await time.pass(0)
    toCut = true
    kube.nudge()
    await time.pass(0)
    toCut = false
  }
  await time.pass(minuteMs)
  assert.equal(reflector.store.size, 10)
  assert.equal(kube.lists, 1)
  await stop()
})

test('the periodic list detects a change that the server did not send', async () => {
  let isDeaf = false
  const kube = new FakeKube()
  const api = kube.api()
  // After a restore of etcd the versions begin again below, and a watch from above waits for them in silence.
  const deaf: KubeApi = {
    ...api,
    watch: (kind, scope, from, signal) =>
      isDeaf ? endAfter(time, from.timeoutMs, signal) : api.watch(kind, scope, from, signal),
  }
  const time = new SimulatedTime()
  const { reflector, stop } = openReflector({}, { kube, api: deaf, time })
  isDeaf = true
  await time.pass(minuteMs)
  kube.put(maps, newMap('a'))
  await time.pass(10 * minuteMs)
  assert.equal(reflector.store.size, 0)
  await time.pass(25 * minuteMs)
  assert.equal(reflector.store.size, 1)
  assert.ok(kube.lists <= 3)
  await stop()
})

test('reports a refusal with the delay until the next attempt', async () => {
  const failures: [unknown, number][] = []
  const { time, stop } = openReflector(
    {
      around: () => Promise.reject(new KubeError('KUBE_DENIED', 'cannot list configmaps')),
    },
    { onFailure: (error, delayMs) => failures.push([error, delayMs]) },
  )
  await time.pass(10 * minuteMs)
  assert.ok(failures.length > 15 && failures.length < 60, `${failures.length} tries in ten minutes`)
  assert.ok(failures.every(([error, delayMs]) => error instanceof KubeError && delayMs >= 250 && delayMs <= 30_000))
  await stop()
})

test('the store converges to the server, whatever happens', async () => {
  for (let seed = 1; seed <= 40; seed++) await runChaos(seed)
})

/** Random changes among random faults; then the faults end and some time passes. */
async function runChaos(seed: number): Promise<void> {
  const random = createRandom(seed)
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
  let isBroken = true
  const mirror = new Map<string, string | undefined>()
  const { kube, time, reflector, changes, stop } = openReflector({
    around: async (_, act) => {
      if (isBroken && random() < 0.3) throw new KubeError('KUBE_UNREACHABLE', 'down')
      return act()
    },
    watchFault: () => (isBroken && random() < 0.4 ? pick(['close', 'gone', 'error', 'silent', 'cut']) : undefined),
  })
  for (let step = 0; step < 60; step++) {
    const ref = { namespace: 'one', name: `map-${Math.floor(random() * 6)}` }
    const isThere = kube.all(maps).some(({ metadata }) => metadata.name === ref.name)
    if (isThere && random() < 0.5) kube.remove(maps, ref)
    else kube.put(maps, newMap(ref.name))
    if (random() < 0.1) kube.compact()
    if (random() < 0.6) await time.pass(random() * 20_000)
  }
  isBroken = false
  kube.nudge()
  await time.pass(10 * minuteMs)
  const versionsOf = (objects: KubeObject[]) =>
    objects.map(({ metadata }) => [metadata.name, metadata.uid, metadata.resourceVersion]).sort()
  assert.deepEqual(versionsOf(reflector.store.list()), versionsOf(kube.all(maps)), `seed ${seed}`)
  for (const { key, after } of changes) mirror.set(key, after?.metadata.resourceVersion)
  const told = [...mirror].filter(([, version]) => version !== undefined).map(([key, version]) => `${key} ${version}`)
  const there = kube.all(maps).map(({ metadata }) => `${formatKey(metadata)} ${metadata.resourceVersion}`)
  assert.deepEqual(told.sort(), there.sort(), `changes of seed ${seed}`)
  await stop()
}

interface Parts {
  kube?: FakeKube
  api?: KubeApi
  time?: SimulatedTime
  onFailure?: (error: unknown, delayMs: number) => void
}

function openReflector(client: Parameters<FakeKube['api']>[0] = {}, parts: Parts = {}) {
  const { kube = new FakeKube(), time = new SimulatedTime() } = parts
  const changes: Change<KubeObject>[] = []
  const reflector = new Reflector<KubeObject>({
    api: parts.api ?? kube.api({ clock: time.clock(), ...client }),
    clock: time.clock(),
    random: () => 0.5,
    kind: maps,
    scope: {},
    onChange: change => changes.push(change),
    ...(parts.onFailure && { onFailure: parts.onFailure }),
  })
  const end = new AbortController()
  const running = reflector.run(end.signal)
  const stop = async () => {
    end.abort(new Error('the test is over'))
    await running
    assert.equal(time.pending, 0)
  }
  return { kube, time, reflector, changes, stop }
}

async function* endAfter(time: SimulatedTime, ms: number, signal: AbortSignal): AsyncGenerator<never> {
  await time.clock().sleep(ms, signal)
  const nothing: never[] = []
  yield* nothing
}

function newMap(name: string): KubeObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'one' } }
}

function namesOf(objects: KubeObject[]): string[] {
  return objects.map(({ metadata }) => formatKey(metadata)).sort()
}

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubeApi } from '../../../src/operator/kube/kube-api.ts'
import { KubeError } from '../../../src/operator/kube/kube-error.ts'
import { openMetricsAccess } from '../../../src/operator/run/metrics-access.ts'
import { openLevels } from '../../../src/operator/run/repeated-warnings.ts'
import { SimulatedTime } from '../../fakes/simulated-time.ts'

interface Review {
  kind?: string
  spec: { token?: string; user?: string; groups?: string[]; nonResourceAttributes?: object }
}

/** Knows the token of each user by `<user>-token`. */
function make(allowed: Set<string>) {
  const asked: Review[] = []
  const state = { isDown: false, answers: Promise.resolve() }
  const create = async (_kind: unknown, review: Review) => {
    asked.push(review)
    await state.answers
    if (state.isDown) throw new KubeError('KUBE_UNREACHABLE', `no answer to ${review.spec.token}`)
    if (review.kind === 'TokenReview') {
      const [, username] = /^(\w+)-token$/.exec(review.spec.token ?? '') ?? []
      return {
        status: username
          ? { authenticated: true, user: { username, groups: ['g'] } }
          : { authenticated: false, error: `not ${review.spec.token}` },
      }
    }
    return { status: { allowed: allowed.has(review.spec.user ?? '') } }
  }
  const time = new SimulatedTime()
  const refused: string[] = []
  const onRefused = (reason: string) => refused.push(reason)
  const guard = openMetricsAccess({ create } as unknown as KubeApi, time.clock(), '/metrics', onRefused)
  const statusOf = async (authorization?: string) => (await guard(authorization))?.status ?? 200
  return { asked, state, time, statusOf, refused }
}

test('lets in whom the API server knows and allows to get the path', async () => {
  const { asked, statusOf } = make(new Set(['prometheus']))
  assert.equal(await statusOf(), 401)
  assert.equal(await statusOf('Basic abc'), 401)
  assert.equal(await statusOf('Bearer two words'), 401)
  assert.equal(asked.length, 0, 'these are no tokens')
  assert.equal(await statusOf('Bearer unknown'), 401)
  assert.equal(await statusOf('Bearer jane-token'), 403)
  assert.equal(await statusOf('Bearer prometheus-token'), 200)
  assert.deepEqual(asked.at(-1)?.spec, {
    ...{ user: 'prometheus', groups: ['g'], uid: undefined, extra: undefined },
    nonResourceAttributes: { path: '/metrics', verb: 'get' },
  })
})

test('reports why a request is refused, once for each review and without the token', async () => {
  const { state, statusOf, refused } = make(new Set(['prometheus']))
  await statusOf('Bearer prometheus-token')
  assert.deepEqual(refused, [])
  await statusOf()
  await statusOf('Bearer unknown')
  await statusOf('Bearer unknown')
  await statusOf('Bearer jane-token')
  state.isDown = true
  await statusOf('Bearer other-token')
  assert.deepEqual(refused, [
    'a request had no bearer token',
    'the API server does not accept a token: not ***',
    'user jane may not get /metrics: bind a role that allows it (nonResourceURLs)',
    'the API server could not be asked about a token: no answer to ***',
  ])
})

test('a repeated problem is a warning once, and again after a pause or a change', async () => {
  const time = new SimulatedTime()
  const levelOf = openLevels(time.clock())
  assert.deepEqual(
    [levelOf('a', 'x'), levelOf('a', 'x'), levelOf('b', 'x'), levelOf('a', 'y')],
    ['warn', 'debug', 'warn', 'warn'],
  )
  await time.pass(4 * 60_000)
  assert.equal(levelOf('b', 'x'), 'debug')
  await time.pass(6 * 60_000)
  assert.equal(levelOf('b', 'x'), 'warn')
})

test('asks once for a while, longer for one who is let in', async () => {
  const allowed = new Set(['prometheus'])
  const { asked, time, statusOf } = make(allowed)
  await statusOf('Bearer prometheus-token')
  await statusOf('Bearer jane-token')
  assert.equal(asked.length, 4)
  allowed.add('jane')
  allowed.delete('prometheus')
  await time.pass(9000)
  assert.deepEqual([await statusOf('Bearer prometheus-token'), await statusOf('Bearer jane-token')], [200, 403])
  await time.pass(2000)
  assert.equal(await statusOf('Bearer jane-token'), 200)
  await time.pass(50_000)
  assert.equal(await statusOf('Bearer prometheus-token'), 403)
})

test('refuses everyone new while the API server does not answer, and remembers nothing of it', async () => {
  const { state, statusOf } = make(new Set(['prometheus']))
  state.isDown = true
  assert.equal(await statusOf('Bearer prometheus-token'), 503)
  state.isDown = false
  assert.equal(await statusOf('Bearer prometheus-token'), 200)
})

test('reviews a few tokens at a time, and serves known ones meanwhile', async () => {
  const { asked, state, statusOf, refused } = make(new Set(['prometheus']))
  assert.equal(await statusOf('Bearer prometheus-token'), 200)
  asked.length = 0
  const { promise, resolve } = Promise.withResolvers<void>()
  state.answers = promise
  const flood = Array.from({ length: 100 }, (_, at) => statusOf(`Bearer unknown${at}`))
  assert.equal(await statusOf('Bearer prometheus-token'), 200)
  assert.equal(asked.length, 8)
  assert.deepEqual([refused.length, refused[0]], [92, '8 other tokens were being reviewed'])
  resolve()
  const statuses = await Promise.all(flood)
  assert.deepEqual([statuses.filter(one => one === 401).length, statuses.filter(one => one === 503).length], [8, 92])
  assert.equal(await statusOf('Bearer unknown99'), 401, 'later ones are reviewed again')
})

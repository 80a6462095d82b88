import { scram } from '../../src/kafka/security/password-login.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { parseAnswer, RegistryClient } from '../../src/registry/client/client.ts'
import { parseVersion } from '../../src/registry/client/parse-answers.ts'
import { readSnapshot } from '../../src/registry/client/read-snapshot.ts'
import { classifyAnswer, type RegistryAnswer } from '../../src/registry/client/registry-error.ts'
import { RegistryStore } from '../../src/registry/serve/registry-store.ts'
import { answerRequest } from '../../src/registry/serve/router.ts'
import { snapshotOf, versionOf } from '../fakes/registry-snapshots.ts'
import { mutateJson, mutateText } from './mutate.ts'
import type { Random, Target } from './target.ts'

const never = new AbortController().signal
const versions = [versionOf('a', 1, 1), versionOf('b', 1, 2, { refs: ['a@1'] }), versionOf(':.c:b', 1, 1)]
const store = new RegistryStore({}, snapshotOf(versions, { contexts: ['.', '.c'] }))

const schemaVersion = {
  ...{ subject: 's', version: 1, id: 7, guid: 'g', schemaType: 'AVRO', schema: '"string"', deleted: false },
  ...{ references: [{ name: 'r', subject: 'q', version: 1 }], metadata: { properties: { a: 'b' } }, ruleSet: null },
}

/** What only one vendor answers, which makes the client take another way. */
const vendors: readonly Record<string, unknown>[] = [
  {},
  { '/v1/metadata/version': { version: '8.0.0', commitId: 'x' } },
  { '/v1/metadata/version': { version: '1.0', build_time: 'x' } },
  {
    '/system/info': { name: 'Apicurio Registry', version: '3.0' },
    '/groups/default/artifacts/a/rules': ['COMPATIBILITY'],
  },
  { '/_health': { status: { schema_registry_ready: true } } },
  { '/status/ready': null },
]

/** A registry of which every fifth answer is a lie. */
class LyingClient extends RegistryClient {
  readonly #random: Random
  readonly #vendor: Record<string, unknown>

  constructor(random: Random) {
    const address = { origin: 'http://r', basePath: '', authorization: undefined }
    // biome-ignore lint/suspicious/noExplicitAny: nothing is sent, so that the parts of a connection are not there
    super([address] as any, { options: { urls: ['http://r'] }, clock: systemClock } as any)
    this.#random = random
    this.#vendor = vendors[Math.floor(random() * vendors.length)] ?? {}
  }

  override async call({ path, query = {} }: Parameters<RegistryClient['call']>[0]): Promise<unknown> {
    const search = new URLSearchParams(
      Object.entries(query).map(([name, value]): [string, string] => [name, `${value}`]),
    )
    const honest = path in this.#vendor ? this.#vendor[path] : this.#answer(`${path}?${search}`)
    if (this.#random() > 0.2) return honest
    const text = mutateJson(honest ?? null, this.#random)
    return answerOf(text)
  }

  #answer(target: string): unknown {
    try {
      const answer = answerRequest(store, { method: 'GET', target, body: '' })
      return 'json' in answer ? structuredClone(answer.json) : answer.text
    } catch {
      throw classifyAnswer({ status: 404, headers: {}, body: '{"error_code":40401}' } as RegistryAnswer, target, 0)
    }
  }
}

/** As the client takes the body of a success. */
function answerOf(body: string): unknown {
  return parseAnswer({ status: 200, headers: {}, body } as RegistryAnswer, 'GET /', 0)
}

const errorBodies = ['{"error_code":40401,"message":"gone"}', '<html><title>x</title>', '{"detail":"x"}', '']

function runError(random: Random): void {
  const body = mutateText(errorBodies[Math.floor(random() * errorBodies.length)] ?? '', random)
  const headers = { 'retry-after': ['5', '-1', '9'.repeat(400), 'Fri, 99 Foo', ''][Math.floor(random() * 5)] ?? '' }
  const status = [200, 301, 401, 404, 418, 429, 500, 999][Math.floor(random() * 8)] ?? 0
  const error = classifyAnswer({ status, headers, body } as RegistryAnswer, 'GET /', 0)
  if (!Number.isFinite(error.retryAfterMs) || error.retryAfterMs > 60_000) throw new Error('it waits for ever')
}

async function runScram(random: Random): Promise<void> {
  const login = { username: 'u', password: 'p' }
  const talk = scram('SCRAM-SHA-256', login, () => 'nonce').converse({ host: 'h', port: 1 }, never)
  await talk.next(Buffer.alloc(0))
  const first = mutateText('r=nonceserver,s=c2FsdA==,i=4096', random)
  const answer = await talk.next(Buffer.from(first))
  if (!answer.done) await talk.next(Buffer.from(mutateText('v=AAAA', random)))
}

/** What registries, token servers and brokers answer, besides the requests of Kafka. */
export const serverTargets: readonly Target[] = [
  {
    name: 'schemas of registries',
    codes: ['REGISTRY_PROTOCOL', 'REGISTRY_REFUSED'],
    run: random => parseVersion(answerOf(mutateJson(schemaVersion, random)), ':.ctx:'),
  },
  {
    name: 'whole registries',
    weight: 2,
    codes: ['REGISTRY_PROTOCOL', 'REGISTRY_REFUSED', 'REGISTRY_NOT_FOUND', 'REGISTRY_CHANGING'],
    run: random => readSnapshot(new LyingClient(random), {}, never),
  },
  { name: 'errors of registries', codes: [], run: runError },
  { name: 'logins by SCRAM', weight: 1, codes: ['KAFKA_AUTH'], run: runScram },
]

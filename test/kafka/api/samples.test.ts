import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { lossesOf, type RequestRow, requestTable } from '../../../src/kafka/api/request-table.ts'
import { BrokerLink } from '../../../src/kafka/broker-link.ts'
import { openSecurity } from '../../../src/kafka/security/security.ts'
import type { Api } from '../../../src/kafka/wire/api.ts'
import { Writer } from '../../../src/kafka/wire/writer.ts'
import { API, type FakeBroker, startFakeBroker, type Versions } from '../../fakes/fake-broker.ts'
import { JumpingClock } from '../../fakes/jumping-clock.ts'
import { decodeSample, plain, type Sample, type Samples, samplesFile } from './sample.ts'
import { samples } from './samples.ts'

const never = new AbortController().signal
const written: Samples = JSON.parse(readFileSync(samplesFile, 'utf8'))
const rows: RequestRow[] = Object.values(requestTable)

test('every request of the table has a sample that Kafka wrote, in every version', () => {
  const expected = rows.map(({ name }) => name)
  assert.deepEqual(samples.map(({ api }) => api.name).sort(), expected.sort())
  for (const { api } of samples) {
    const versions = Object.keys(written[api.name] ?? {}).map(Number)
    assert.deepEqual(
      [versions[0], versions.at(-1), versions.length],
      [api.oldest, api.newest, api.newest - api.oldest + 1],
    )
  }
})

describe('in each version', () => {
  for (const sample of samples) {
    const { api, request } = sample
    test(`${api.name} is written as Kafka writes it, and its answer is read`, () => {
      for (const [version, bytes] of Object.entries(written[api.name] ?? {})) {
        const writer = new Writer({ isFlexible: Number(version) >= api.flexibleFrom })
        api.encode(writer, request as never, Number(version))
        assert.equal(writer.finish().toString('hex'), bytes.request, `${api.name} v${version}`)
        assert.deepEqual(
          decodeSample(sample, Number(version), bytes.response),
          bytes.decoded,
          `${api.name} v${version}`,
        )
      }
    })
  }
})

describe('a broker', () => {
  for (const sample of samples.filter(({ api }) => api.key !== API.apiVersions)) {
    const { oldest, newest, name } = sample.api
    test(`is asked for ${name} in the newest version that it has`, async () => {
      for (const [range, version] of [
        [[newest, newest + 9], newest],
        [[0, oldest], oldest],
        [[oldest, newest], newest],
        [[0, 99], newest],
      ] as const) {
        const { answer, requests } = await askScripted(sample, range)
        assert.deepEqual(withoutPlaces(answer), withoutPlaces(written[name]?.[version]?.decoded))
        const asked = requests.filter(({ key }) => key === sample.api.key)
        assert.deepEqual(
          asked.map(one => one.version),
          [version],
        )
        assert.equal(bodyOf(asked[0]), written[name]?.[version]?.request)
      }
    })

    test(`that does not have ${name}, or only versions that are too new, is refused by name`, async () => {
      const unspoken = [undefined, [newest + 1, newest + 5], ...(oldest > 0 ? [[0, oldest - 1]] : [])] as const
      for (const range of unspoken) {
        const theirs = range ? `versions ${range[0]} to ${range[1]}` : 'no version of it'
        const message = new RegExp(`does not speak ${name} v.*; it speaks ${theirs}$`)
        await assert.rejects(askScripted(sample, range as readonly [number, number] | undefined), {
          code: 'KAFKA_UNSUPPORTED',
          message,
        })
      }
    })
  }

  test('that is too old for our ApiVersions is asked again in version 0', async () => {
    const [sample] = samples.filter(({ api }) => api.key === API.metadata)
    const { requests } = await askScripted(sample ?? assert.fail(), [0, 7], [0, 2])
    assert.deepEqual(
      requests.map(({ key, version }) => [key, version]),
      [
        [API.apiVersions, 3],
        [API.apiVersions, 0],
        [API.metadata, 7],
      ],
    )
  })

  for (const name of ['FindCoordinator', 'OffsetFetch']) {
    test(`that takes one group in a ${name} is asked once for each, and the answers are joined`, async () => {
      const sample = samples.find(({ api }) => api.name === name) ?? assert.fail()
      const { groups } = sample.request as { groups: unknown[] }
      const two = { ...sample, request: { ...(sample.request as object), groups: [...groups, ...groups] } }
      const before = sample.api.oneByOne?.before ?? assert.fail()
      const { answer, requests } = await askScripted(two, [0, before - 1])
      assert.equal(requests.filter(({ key }) => key === sample.api.key).length, 2)
      const joined = Array.isArray(answer) ? answer : (answer as { groups: unknown[] }).groups
      assert.equal(joined.length, 2)
    })
  }
})

describe('what is lost', () => {
  for (const row of rows.filter(({ name }) => !name.startsWith('Sasl'))) {
    const lost = (version: number | undefined) =>
      lossesOf(one => (one.name === row.name ? version : one.newest), [row.use]).join()
    test(`is said of a broker without ${row.name}, and of its older versions`, () => {
      assert.equal(lost(undefined), `no ${row.name}: ${row.without}`)
      assert.equal(lost(row.newest), '')
      for (const { below, loses } of row.limits ?? []) {
        assert.ok(below > row.oldest && below <= row.newest, `${below} is one of its versions`)
        assert.ok(lost(below - 1).includes(loses))
        assert.ok(!lost(below).includes(loses))
      }
    })
  }
})

/** Asks a broker that has only these versions of the request, and answers as Kafka does. */
async function askScripted(
  { api, request }: Sample,
  range: readonly [number, number] | undefined,
  greeting: readonly [number, number] = [0, 4],
) {
  const versions: Versions = new Map([[API.apiVersions, greeting], ...(range ? [[api.key, range] as const] : [])])
  const answer = ({ version }: { version: number }) =>
    Buffer.from(written[api.name]?.[version]?.response ?? assert.fail(), 'hex')
  const broker = await startFakeBroker({ [api.key]: answer }, 0, () => versions)
  try {
    const link = await openLink(broker)
    try {
      const answered = await link.call(api as Api<unknown, unknown>, request, never)
      return { answer: plain(answered), requests: broker.requests }
    } finally {
      link.close()
    }
  } finally {
    await broker.close()
  }
}

function openLink({ host, port }: FakeBroker): Promise<BrokerLink> {
  const clock = new JumpingClock()
  const security = openSecurity(undefined, { clock, timeoutMs: 1000 })
  const options = { clientId: 'test', softwareVersion: '0', timeoutMs: 1000, clock, security }
  return BrokerLink.open({ host, port }, options, never)
}

/** Where the records of a Fetch lie counts from the header of the answer on. */
function withoutPlaces(answer: unknown): unknown {
  return JSON.parse(JSON.stringify(answer, (key, value) => (key === 'start' || key === 'end' ? undefined : value)))
}

/** Behind the header, in hex. */
function bodyOf(request: FakeBroker['requests'][number] | undefined): string | undefined {
  return request?.body.buffer.subarray(request.body.position).toString('hex')
}

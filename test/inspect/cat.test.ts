import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { openSelected } from '../../src/archive/select-generation.ts'
import { type CatQuery, catRecords, newTally } from '../../src/inspect/cat.ts'
import { parsePrintFormat } from '../../src/inspect/print-format.ts'
import { SchemaDecoder } from '../../src/inspect/schema-decoder.ts'
import { recordDocument } from '../../src/inspect/show-record.ts'
import { catAt } from '../../src/jobs/inspect.ts'
import { formatJson } from '../../src/lib/json.ts'
import { openStorage } from '../../src/storage/open-storage.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { collect } from './collect.ts'

const never = new AbortController().signal
const golden = () => openStorage({ backend: 'filesystem', path: join(import.meta.dirname, '../golden/v0.1.0') })

type Changes = Partial<Omit<CatQuery, 'extent'>> & Partial<CatQuery['extent']>

async function cat(
  { offsets = {}, times = {}, withAborted = false, ...changes }: Changes,
  storage: Storage = golden(),
) {
  const query: CatQuery = {
    ...{ topic: 'golden', headers: [], keyAs: 'auto', valueAs: 'auto', ...changes },
    extent: { offsets, times, withAborted },
  }
  return catAt(storage, 'golden', { query }, never, collect)
}

/** `partition/offset` of each. */
async function places(changes: Changes, storage?: Storage): Promise<string[]> {
  return (await cat(changes, storage)).map(({ record }) => `${record.partition}/${record.offset}`)
}

test('a value that is longer as text than a string can be is shown as it is stored', async t => {
  const schema = { id: 9, subject: 's', version: 1, type: 'AVRO' as const }
  const encoded = { payload: Buffer.alloc(0), writer: { text: '', references: [] } }
  const value = Array(600).fill({ ['n'.repeat(1 << 20)]: null })
  t.mock.method(SchemaDecoder.prototype, 'decode', (_: unknown, part: string) =>
    part === 'key' ? { kind: 'null' } : { kind: 'decoded', schema, value, encoded },
  )
  const [shown] = await cat({ limit: 1 })
  assert.ok(shown)
  assert.deepEqual([shown.value.encoding, shown.value.schema], ['text', undefined])
  assert.equal(shown.value.reason, 'it is longer than 160 MiB as text')
  assert.ok(formatJson(recordDocument(shown.record, shown)).length < 1000)
})

test('headers that are longer together than a string can be are shown as they are stored', async t => {
  const schema = { id: 9, subject: 's', version: 1, type: 'AVRO' as const }
  const encoded = { payload: Buffer.alloc(0), writer: { text: '', references: [] } }
  const value = Array(200).fill({ ['n'.repeat(1 << 20)]: null })
  t.mock.method(SchemaDecoder.prototype, 'decodeHeader', (_: string, bytes: Buffer | null) =>
    bytes === null ? { kind: 'null' } : { kind: 'decoded', schema, value, encoded },
  )
  const [shown] = await cat({ headers: [{ name: 'h' }], limit: 1 })
  assert.ok(shown)
  const reasons = shown.headers.map(({ part }) => part.reason)
  assert.ok(reasons.includes('it is longer than 160 MiB as text'), String(reasons))
  assert.ok(formatJson(recordDocument(shown.record, shown)).length < 1 << 20)
})

describe('records of a backup are selected', () => {
  test('by partition and offset, the end excluded', async () => {
    assert.deepEqual(await places({ partition: 1, offsets: { start: 3n, end: 5n } }), ['1/3', '1/4'])
    assert.deepEqual(await places({ offsets: { start: 11n } }), ['0/11'])
  })

  test('by time, the end excluded', async () => {
    const times = { start: 1_700_000_000_001n, end: 1_700_000_000_002n }
    assert.deepEqual(await places({ times }), ['1/0', '1/1', '1/2', '1/3', '1/4', '1/5'])
    assert.deepEqual(await places({ times: { start: 1_700_000_000_003n } }), [])
  })

  test('by key and header, and all conditions must hold', async () => {
    assert.deepEqual(await places({ key: 'snappy 2' }), ['0/5'])
    assert.deepEqual(await places({ headers: [{ name: 'h', value: 'lz4' }] }), ['0/6', '0/7', '1/3'])
    assert.deepEqual(await places({ headers: [{ name: 'h', value: 'lz4' }], key: 'lz4 2' }), ['0/7'])
    assert.deepEqual(await places({ headers: [{ name: 'H' }] }), [])
  })

  test('by their number, from the end of each partition or from the beginning', async () => {
    assert.deepEqual(await places({ newest: 2 }), ['0/10', '0/11', '1/4', '1/5'])
    assert.deepEqual(await places({ newest: 1, headers: [{ name: 'h', value: 'none' }] }), ['0/1', '1/0'])
    assert.deepEqual(await places({ newest: 100, partition: 1 }), ['1/0', '1/1', '1/2', '1/3', '1/4', '1/5'])
    assert.deepEqual(await places({ limit: 3 }), ['0/0', '0/1', '0/2'])
  })

  test('without aborted transactions and markers, unless they are asked for', async () => {
    const found = await cat({ partition: 1, offsets: { start: 5n }, withAborted: true })
    assert.deepEqual(
      found.map(({ record }) => [record.offset, record.transaction]),
      [
        [5n, 'committed'],
        [6n, 'commit marker'],
        [7n, 'aborted'],
        [8n, 'abort marker'],
      ],
    )
  })

  test('only from the segments that may hold them', async () => {
    const read = new Set<string>()
    const storage = golden()
    const watched: Storage = Object.create(storage, {
      readRange: {
        value: (key: string, ...rest: [number, number, AbortSignal]) => {
          read.add(key)
          return storage.readRange(key, ...rest)
        },
      },
    })
    await places({ partition: 0, offsets: { start: 10n } }, watched)
    assert.deepEqual([...read], ['golden/kafka/golden/0/00000000000000000010.6f08b04d.log.zst'])
    read.clear()
    await places({ partition: 0, newest: 1 }, watched)
    assert.deepEqual([...read], ['golden/kafka/golden/0/00000000000000000010.6f08b04d.log.zst'])
  })

  test('of older incarnations, too, under their own names, if all are asked for', async () => {
    const storage = golden()
    const manifest = await openSelected(storage, 'golden', {}, never)
    const [topic] = manifest.topics
    assert(topic)
    const older = { ...topic, id: 'aa11'.repeat(8), state: 'replaced' as const }
    const empty = topic.partitions.map(one => ({ ...one, indexes: [], segments: 0 }))
    const both = { ...manifest, topics: [{ ...older, partitions: empty }, topic] }
    const searched = async (changes: Partial<CatQuery>, held = both) => {
      const tally = newTally()
      const extent = { offsets: {}, times: {}, withAborted: false }
      const query: CatQuery = { topic: '*', headers: [], keyAs: 'auto', valueAs: 'auto', extent, ...changes }
      await collect(catRecords(storage, held, query, { tally }, never))
      return [...tally.topics.keys()]
    }
    assert.deepEqual(await searched({}), ['golden'])
    assert.deepEqual(await searched({ allIncarnations: true }), ['golden', 'golden@aa11aa11'])
    assert.deepEqual(
      await searched({ allIncarnations: true, topic: 'other*' }).catch(error => error.code),
      'TOPIC_NOT_FOUND',
    )
    const onlyOlder = { ...manifest, topics: [{ ...older, partitions: empty }] }
    assert.deepEqual(await searched({ allIncarnations: true, topic: 'golden' }, onlyOlder), ['golden@aa11aa11'])
    assert.equal(await searched({ topic: 'golden' }, onlyOlder).catch(error => error.code), 'TOPIC_NOT_FOUND')
  })

  test('and what is not there is named', async () => {
    await assert.rejects(cat({ topic: 'orders' }), { code: 'TOPIC_NOT_FOUND', message: /holds no topic orders/ })
    await assert.rejects(cat({ topic: 'orders*' }), { code: 'TOPIC_NOT_FOUND', message: /matches orders\*/ })
    await assert.rejects(cat({ partition: 2 }), { code: 'TOPIC_NOT_FOUND', message: /golden has no partition 2/ })
  })
})

describe('a record is shown', () => {
  const shown = async (changes: Changes) => {
    const [first] = await cat({ partition: 0, limit: 1, ...changes })
    assert(first)
    return first
  }

  test('as a document that keeps the order of headers, those without a value too', async () => {
    const one = await shown({ offsets: { start: 1n } })
    assert.equal(
      formatJson(recordDocument(one.record, one)),
      '{"topic":"golden","partition":0,"offset":1,"timestamp":1700000000002,"time":"2023-11-14T22:13:20.002Z",' +
        '"key":"none 2","value":null,"tombstone":true,"headers":[{"name":"h","value":null},{"name":"h","value":"none"}]}',
    )
  })

  test('in another form on request', async () => {
    const { key } = await shown({ keyAs: 'hex' })
    assert.deepEqual(key, { encoding: 'hex', value: '6e6f6e652030' })
    assert.equal((await shown({ keyAs: 'base64' })).key.value, 'bm9uZSAw')
  })

  test('by the letters of kcat', async () => {
    const first = await shown({})
    const print = (format: string) => parsePrintFormat(format)(first).toString('latin1')
    assert.equal(print('%t %p %o %k %K %T %% [%h]\\n'), 'golden 0 0 none 0 6 1700000000000 % [h=NULL,h=none]\n')
    assert.equal(print('\\x41\\t%S'), 'A\t70')
    assert.equal(print('%R'), '\0\0\0F')
    const tombstone = await shown({ offsets: { start: 1n } })
    assert.equal(parsePrintFormat('<%s>%S')(tombstone).toString(), '<>-1')
  })

  for (const format of ['%q', '%', 'a\\', '\\q']) {
    test(`and the format ${format} is refused`, () => {
      assert.throws(() => parsePrintFormat(format), { code: 'USAGE', message: /--print does not know/ })
    })
  }
})

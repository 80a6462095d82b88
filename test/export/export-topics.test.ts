import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ExportTally } from '../../src/export/export-tally.ts'
import { exportTopics, type FileChoice } from '../../src/export/export-topics.ts'
import { jsonLines } from '../../src/export/json-lines.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { type SampleRecord, showAll } from './shown-records.ts'

const never = new AbortController().signal

test('a file of one topic never replaces that of another, although a part and a topic have the same name', async () => {
  const storage = openMemoryStorage()
  // One file more than are open at a time, so that the first one continues as a second part.
  const suffixes = [...Array.from({ length: 33 }, (_, at) => `.${at}`), '.0']
  const samples: SampleRecord[] = [
    ...suffixes.map((suffix, at) => ({ topic: 'a', key: suffix, value: `a ${at}` })),
    { topic: 'a.part-2', key: '.0', value: 'b' },
  ]
  const choose = ({ record }: { record: { key: Buffer | null } }): FileChoice => ({
    suffix: String(record.key),
    open: () => jsonLines,
  })
  const tally = new ExportTally()
  async function* records() {
    yield* await showAll(samples)
  }
  await exportTopics(records(), choose, { storage, overwrites: true }, tally, never)
  const names = tally.files.map(({ name }) => name)
  assert.deepEqual(names.toSorted(), [...new Set(names)].toSorted())
  const values: string[] = []
  for (const name of names) {
    const lines = (await storage.read(name, never)).toString('utf8').trimEnd().split('\n')
    values.push(...lines.map(line => JSON.parse(line).value))
  }
  assert.deepEqual(values.toSorted(), samples.map(({ value }) => value).toSorted())
})

test('files of topics that differ in case alone have names that a file system without case tells apart', async () => {
  const samples: SampleRecord[] = ['Orders', 'orders', 'ORDERS', 'other'].map(topic => ({ topic, value: topic }))
  const names: string[][] = []
  for (let round = 0; round < 2; round++) {
    const storage = openMemoryStorage()
    const tally = new ExportTally()
    async function* records() {
      yield* await showAll(samples)
    }
    await exportTopics(
      records(),
      () => ({ suffix: '.jsonl', open: () => jsonLines }),
      { storage, overwrites: true },
      tally,
      never,
    )
    names.push(tally.files.map(({ name }) => name))
    for (const { name, topic } of tally.files)
      assert.equal(JSON.parse(String(await storage.read(name, never))).value, topic)
  }
  const [first = [], second] = names
  assert.deepEqual(first, second)
  assert.equal(new Set(first.map(name => name.toLowerCase())).size, 4)
  assert.deepEqual([first[0], first[3]], ['Orders.jsonl', 'other.jsonl'])
  assert.match(first[1] ?? '', /^orders~[0-9a-f]{12}\.jsonl$/)
})

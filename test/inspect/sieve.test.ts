import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { openBody } from '../../src/batch/compression.ts'
import { codecNames } from '../../src/batch/header.ts'
import { walkBatches } from '../../src/batch/walk.ts'
import { type Needle, Sieve } from '../../src/inspect/sieve.ts'
import { openSifting } from '../../src/inspect/sieve-threads.ts'
import { SieveWorkers } from '../../src/inspect/sieve-workers.ts'
import { packVerdict, type Verdict, VerdictList } from '../../src/inspect/verdicts.ts'
import { RandomBatches } from '../batch/random-batches.ts'
import { encodeBatch } from '../fakes/batches.ts'
import { framed } from '../registry/ids/sample-schemas.ts'

const needles: Needle[] = [
  { part: 'key', bytes: Buffer.from('k'), isJson: false },
  { part: 'value', bytes: Buffer.from('Ada'), isJson: false },
]
const LARGE = 1 << 30

/** Batches of all codecs: with the text, without it, with schemas, damaged, and larger than a sieve opens. */
function samples() {
  const key = Buffer.from('k')
  const value = (text: string) => ({ key, value: Buffer.from(text) })
  let baseOffset = 0n
  const batches = codecNames.flatMap(codec => {
    const some = [
      { codec, records: [value('by Ada'), value('by Eve')] },
      { codec, records: [value('by Bob'), { key, value: null }] },
      {
        codec,
        records: [5, 5, 6].map(id => ({ key, value: framed(id, 'x') })).concat({ key, value: Buffer.alloc(8, 1) }),
      },
      { codec, records: [{ key, value: framed(5, 'abc') }] },
      { codec, records: [{ ...value('x'), headers: [['__value_schema_id', framed(5, '')]] as [string, Buffer][] }] },
      { codec, records: [value('x')], body: Buffer.from('neither records nor packed') },
      { codec, records: [value('x'.repeat(17 << 20))] },
    ]
    return some.map(spec => encodeBatch({ ...spec, baseOffset: baseOffset++ }))
  })
  const bytes = Buffer.concat(batches)
  const headers = walkBatches(bytes, 0, bytes.length)
  return { bytes, headers, positions: headers.map(({ position }) => position) }
}

function verdictsOf(list: VerdictList, count = list.count): (Verdict | undefined)[] {
  return Array.from({ length: count }, () => list.next())
}

describe('a sieve', () => {
  test('finds in packed batches what it finds in open ones', () => {
    const { bytes, headers } = samples()
    const sieve = new Sieve(needles)
    headers.forEach((header, i) => {
      const found = sieve.siftBatch(bytes, header)
      const kind = i % 7
      if (kind === 5) assert.equal(found, undefined, 'a damaged batch is left to who can name the damage')
      else if (kind === 6 && i > 6) assert.equal(found, undefined, 'a large one is opened alone')
      else assert.deepEqual(found, sieve.sift(openBody(bytes, header), header))
    })
    const ids = new Map([[5, { frames: 0, longs: 1 }]])
    assert.deepEqual(
      headers.slice(0, 5).map(header => sieve.siftBatch(bytes, header)),
      [
        'maybe',
        'none',
        [
          {
            part: 'value',
            ids: new Map([
              [5, { frames: 2, longs: 0 }],
              [6, { frames: 1, longs: 0 }],
            ]),
          },
        ],
        [{ part: 'value', ids }],
        'maybe',
      ],
    )
  })

  test('never excludes a batch that holds the text, of any codec and with any records', () => {
    const random = new RandomBatches(7)
    for (const batch of random.batches(300)) {
      const [header] = walkBatches(batch, 0, batch.length)
      assert.ok(header)
      const body = openBody(batch, header)
      const at = random.pick(Math.max(1, body.length - 4))
      const bytes = body.subarray(at, at + 4)
      if (bytes.length === 0) continue
      const sieve = new Sieve([{ part: undefined, bytes, isJson: false }])
      assert.equal(sieve.siftBatch(batch, header), 'maybe')
    }
  })
})

describe('verdicts', () => {
  test('are read in the order in which they were packed', () => {
    const all: (Verdict | undefined)[] = [
      'none',
      [
        { part: 'key', ids: new Map([[7, { frames: 1, longs: 2 }]]) },
        {
          part: 'value',
          ids: new Map([
            [2 ** 31 - 1, { frames: 5000, longs: 0 }],
            [1, { frames: 0, longs: 3 }],
          ]),
        },
      ],
      undefined,
      'maybe',
      [{ part: 'value', ids: new Map() }],
    ]
    const packed: number[] = []
    for (const verdict of all) packVerdict(verdict, packed)
    assert.deepEqual(verdictsOf(new VerdictList(packed, all.length)), all)
    assert.equal(new VerdictList([], 0).next(), undefined)
  })
})

describe('a sieve on threads', () => {
  test('finds what one here finds, for many calls at the same time', async () => {
    const { bytes, positions } = samples()
    const here = openSifting(needles, LARGE, 1)
    const threads = openSifting(needles, LARGE, 2)
    const expected = verdictsOf(await here.sift(bytes, positions))
    assert.equal(expected.length, positions.length)
    const part = positions.slice(3, 9)
    const all = await Promise.all(Array.from({ length: 6 }, () => threads.sift(bytes, positions)))
    for (const found of all) assert.deepEqual(verdictsOf(found), expected)
    assert.deepEqual(verdictsOf(await threads.sift(bytes, part)), expected.slice(3, 9))
    assert.deepEqual(verdictsOf(await threads.sift(bytes, [])), [])
    threads.close()
    here.close()
  })

  test('answers without verdicts once it is closed, and keeps nothing running', async () => {
    const { bytes, positions } = samples()
    const threads = openSifting(needles, LARGE, 2)
    const underWay = threads.sift(bytes, positions)
    threads.close()
    const none = positions.map(() => undefined)
    assert.deepEqual(verdictsOf(await underWay, none.length), none)
    assert.deepEqual(verdictsOf(await threads.sift(bytes, positions), none.length), none)
  })

  test('continues here when its threads end, and what waited for them has the same verdicts or none', async () => {
    const { bytes, positions } = samples()
    const here = openSifting(needles, LARGE, 1)
    const workers: Worker[] = []
    const note = (worker: Worker) => workers.push(worker)
    // The threads of the test before are reported with the next turn.
    await new Promise(resolve => setImmediate(resolve))
    process.on('worker', note)
    const threads = openSifting(needles, LARGE, 2)
    // Enough to keep a thread busy until it is ended.
    const many = Array.from({ length: 20 }, () => positions).flat()
    const underWay = threads.sift(bytes, many)
    while (workers.length < 2) await new Promise(resolve => setImmediate(resolve))
    process.off('worker', note)
    await Promise.all(workers.flatMap(worker => [once(worker, 'exit'), worker.terminate()]))
    const expected = verdictsOf(await here.sift(bytes, positions))
    for (const [at, verdict] of verdictsOf(await underWay, many.length).entries()) {
      if (verdict !== undefined) assert.deepEqual(verdict, expected[at % positions.length])
    }
    assert.deepEqual(verdictsOf(await threads.sift(bytes, positions)), expected)
    threads.close()
  })

  test('gives a task to the thread that has the fewest bytes to search', async () => {
    const { bytes, positions } = samples()
    const workers: Worker[] = []
    const note = (worker: Worker) => workers.push(worker)
    await new Promise(resolve => setImmediate(resolve))
    process.on('worker', note)
    const threads = openSifting(needles, LARGE, 2)
    while (workers.length < 2) await new Promise(resolve => setImmediate(resolve))
    process.off('worker', note)
    const given: number[] = []
    for (const [number, worker] of workers.entries()) {
      const post = worker.postMessage.bind(worker)
      worker.postMessage = task => {
        given.push(number)
        post(task)
      }
    }
    const small = positions.slice(0, 1)
    const all = [positions, small, small, small].map(some => threads.sift(bytes, some))
    assert.deepEqual(given, [0, 1, 1, 1])
    await Promise.all(all)
    threads.close()
  })

  test('uses threads that were started before it was known what to search for, even where they have ended', async () => {
    const { bytes, positions } = samples()
    const expected = verdictsOf(await openSifting(needles, LARGE, 1).sift(bytes, positions))
    const workers: Worker[] = []
    const note = (worker: Worker) => workers.push(worker)
    await new Promise(resolve => setImmediate(resolve))
    process.on('worker', note)
    const [early, ended] = [new SieveWorkers(2), new SieveWorkers(2)]
    while (workers.length < 4) await new Promise(resolve => setImmediate(resolve))
    process.off('worker', note)
    const threads = openSifting(needles, LARGE, 2, early)
    // What was taken is not ended with the rest.
    early.end()
    assert.deepEqual(verdictsOf(await threads.sift(bytes, positions)), expected)
    assert.deepEqual(
      [workers[0]?.threadId, workers[1]?.threadId].filter(id => (id ?? -1) < 0),
      [],
    )
    threads.close()
    await Promise.all(workers.slice(2).flatMap(worker => [once(worker, 'exit'), worker.terminate()]))
    const without = openSifting(needles, LARGE, 2, ended)
    assert.deepEqual(verdictsOf(await without.sift(bytes, positions)), expected)
    without.close()
    const again = openSifting(needles, LARGE, 2, early)
    assert.ok(again.width > 0, 'others are started where none are left')
    assert.deepEqual(verdictsOf(await again.sift(bytes, positions)), expected)
    again.close()
  })

  test('is one here where the system permits no threads', async t => {
    const { bytes, positions } = samples()
    const expected = verdictsOf(await openSifting(needles, LARGE, 1).sift(bytes, positions))
    // What the runtime does at a limit of processes: it throws where a thread is made.
    const failing = t.mock.method(Worker.prototype, 'unref', function (this: Worker) {
      void this.terminate()
      throw new Error('ERR_WORKER_INIT_FAILED')
    })
    const sifting = openSifting(needles, LARGE, 2)
    failing.mock.restore()
    assert.equal(sifting.width, 1)
    assert.deepEqual(verdictsOf(await sifting.sift(bytes, positions)), expected)
  })

  test('is not started for little data', () => {
    assert.equal(openSifting(needles, 1 << 20, 4).width, 1)
    assert.equal(openSifting(needles, LARGE, 1).width, 1)
  })
})

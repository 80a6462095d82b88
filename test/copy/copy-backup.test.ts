import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { sealJson } from '../../src/archive/seal.ts'
import { hasCode, KafkaBackupError } from '../../src/errors.ts'
import { parseJson } from '../../src/lib/json.ts'
import type { ProgressEvent } from '../../src/observe/progress.ts'
import { withFaults } from '../fakes/faulty-storage.ts'
import { type MemoryStorage, openMemoryStorage } from '../fakes/memory-storage.ts'
import { assertSameObjects, assertWhole, copy } from './copies.ts'
import { storeGenerations } from './sample-history.ts'

async function stage(count = 3, valueBytes = 10) {
  const [source, target] = [openMemoryStorage(), openMemoryStorage()]
  const manifests = await storeGenerations(source, count, { valueBytes })
  return { source, target, manifests }
}

const keyOf = (storage: MemoryStorage, pattern: RegExp) =>
  [...storage.objects.keys()].find(key => pattern.test(key)) ?? assert.fail(`nothing is called ${pattern}`)

/** Another byte in the middle. */
function damage({ objects }: MemoryStorage, key: string): void {
  const body = Buffer.from(objects.get(key) ?? assert.fail(key))
  const at = body.length >> 1
  body[at] = (body[at] ?? 0) ^ 1
  objects.set(key, body)
}

const firstSegment = /orders\/0\/0+\.run1\.log$/
/** What generations name: neither manifests nor copies of the current state. */
const namedIn = ({ objects }: MemoryStorage) =>
  [...objects.keys()].filter(key => !/\/manifests?[./]|schema-registry\/(?!generations)/.test(key))

const lastSegment = /orders\/0\/0+6\.run3\.log$/

describe('a copy', () => {
  test('brings every object of every generation, byte for byte, and leaves what is not part of them', async () => {
    const { source, target } = await stage()
    const expected = new Map(source.objects)
    for (const folder of [
      'restores/a.json',
      'leases/run1.json',
      'keys/00000001.json',
      'shards/00000004/shard-0.json',
    ]) {
      source.objects.set(`b1/${folder}`, Buffer.from('{}'))
    }
    source.objects.set('b2/manifests/00000001.json', Buffer.from('{}'))
    const report = await copy({ source, target })
    assertSameObjects({ ...source, objects: expected }, target)
    const objects = namedIn({ ...source, objects: expected }).length
    assert.deepEqual([report.ok, report.generations, report.newest_generation], [true, [1, 2, 3], 3])
    assert.deepEqual([report.objects, report.existing_objects, report.problems], [objects, 0, []])
  })

  test('warns of copies of the current state that the target does not let it replace, and is a good copy', async () => {
    const { source, target } = await stage()
    await copy({ source, target }, { generation: 1 })
    const replace = async (key: string) => {
      throw new KafkaBackupError('STORAGE_RETAINED', `${key} is locked`)
    }
    const events: ProgressEvent[] = []
    const report = await copy({ source, target: { ...target, replace } }, { onProgress: event => events.push(event) })
    assert.deepEqual([report.ok, report.generations, await assertWhole(target)], [true, [2, 3], [1, 2, 3]])
    assert.deepEqual(
      events.flatMap(event => (event.type === 'warning' ? [event.message.replace(/, and \d+ more$/, '')] : [])),
      [
        'b1/manifest.json is not the newest generation: b1/manifest.json is locked',
        'the files under plain names in b1/schema-registry/ are not those of generation 3, which is complete: b1/schema-registry/current.json is locked',
      ],
    )
    await copy({ source, target })
    assertSameObjects(source, target)
  })

  test('commits nothing when its lease on the target was lost: what it copied may have been removed', async () => {
    const { source, target } = await stage()
    const assertHeld = () => {
      throw new KafkaBackupError('WRITER_CONFLICT', 'the lease could not be renewed in time')
    }
    await assert.rejects(copy({ source, target, assertHeld }), error => hasCode(error, 'WRITER_CONFLICT'))
    assert.deepEqual(
      [...target.objects.keys()].filter(key => key.includes('/manifests/')),
      [],
    )
  })

  test('neither takes a backup that is given up nor adds to one, which a prune would remove', async () => {
    for (const side of ['source', 'target'] as const) {
      const stores = await stage()
      stores[side].objects.set('b1/manifests/pruned.json', Buffer.from('{}'))
      const before = stores.target.objects.size
      await assert.rejects(copy(stores), error => hasCode(error, 'BACKUP_PRUNED'))
      assert.equal(stores.target.objects.size, before)
    }
  })

  test('brings large objects in pieces, several at a time, each committed only when it is whole', async () => {
    const { source, target } = await stage(2, 3 << 20)
    const report = await copy({ source, target: withFaults(target, []) })
    assert.ok(report.bytes > 30 << 20)
    assertSameObjects(source, target)
    assert.equal(target.openWriters.size, 0)
  })

  test('tells how far it is, from nothing to all', async () => {
    const { source, target } = await stage(2)
    const events: ProgressEvent[] = []
    const report = await copy({ source, target }, { onProgress: event => events.push(event) })
    const steps = events.filter(({ type }) => type === 'transferred')
    const { objects: totalObjects, bytes: totalBytes } = report
    const sum = { type: 'transferred', totalObjects, totalBytes }
    assert.deepEqual(steps[0], { ...sum, objects: 0, bytes: 0 })
    assert.deepEqual(steps.at(-1), { ...sum, objects: totalObjects, bytes: totalBytes })
    const commits = events.filter(({ type }) => type === 'committed')
    assert.deepEqual(
      commits,
      [1, 2].map(generation => ({ type: 'committed', generation, complete: true })),
    )
  })

  test('brings what is new when it is run again, and nothing when there is nothing', async () => {
    const { source, target, manifests } = await stage(2)
    await copy({ source, target })
    const watched = withFaults(target, [])
    const nothing = await copy({ source, target: watched })
    assert.deepEqual([nothing.generations, nothing.objects, nothing.newest_generation], [[], 0, 2])
    const writes = watched.calls.filter(({ operation }) => !/^(read|list|stat)/.test(operation))
    assert.deepEqual(writes, [])
    await storeGenerations(source, 1, { after: manifests[1] ?? assert.fail() })
    const next = await copy({ source, target })
    assert.deepEqual([next.generations, next.newest_generation], [[3], 3])
    assert.ok(next.existing_objects > 0 && next.objects < next.existing_objects)
    assertSameObjects(source, target)
  })

  test('ends at the generation that was the newest when it began', async () => {
    const { source, target, manifests } = await stage(2)
    let growing: Promise<unknown> | undefined
    const onProgress = () => {
      growing ??= storeGenerations(source, 1, { after: manifests[1] ?? assert.fail() })
    }
    assert.deepEqual((await copy({ source, target }, { onProgress })).generations, [1, 2])
    assert.deepEqual(await assertWhole(target), [1, 2])
    await growing
    assert.deepEqual((await copy({ source, target })).generations, [3])
  })

  test('of one generation brings what that one needs', async () => {
    const { source, target } = await stage()
    const { generations, objects } = await copy({ source, target }, { generation: 2 })
    assert.deepEqual([generations, await assertWhole(target)], [[2], [2]])
    assert.deepEqual((await copy({ source, target }, { generation: 'newest' })).generations, [3])
    assert.deepEqual(await assertWhole(target), [2, 3])
    assert.ok(objects < source.objects.size - 4)
    const rest = await copy({ source, target })
    assert.deepEqual([rest.generations, rest.older_generations], [[], [1]])
    await assert.rejects(copy({ source, target }, { generation: 7 }), {
      code: 'GENERATION_NOT_FOUND',
      message: /has no generation 7/,
    })
  })

  test('that is only tried out says the same and writes nothing', async () => {
    const { source, target } = await stage()
    const tried = await copy({ source, target }, { dryRun: true })
    assert.equal(target.objects.size, 0)
    assert.deepEqual({ ...(await copy({ source, target })), dry_run: true }, tried)
  })

  test('puts back what is gone from a generation that the target has', async () => {
    const { source, target } = await stage()
    await copy({ source, target })
    target.objects.delete(keyOf(target, firstSegment))
    target.objects.delete('b1/manifest.json')
    const { generations, objects } = await copy({ source, target })
    assert.deepEqual([generations, objects], [[], 1])
    assertSameObjects(source, target)
  })

  test('commits a new generation only after what is gone from older ones is back', async () => {
    const { source, target, manifests } = await stage(2)
    await copy({ source, target })
    target.objects.delete(keyOf(target, firstSegment))
    await storeGenerations(source, 1, { after: manifests[1] ?? assert.fail() })
    const watched = withFaults(target, [])
    await copy({ source, target: watched }, { verifyExisting: true })
    const creates = watched.calls.filter(({ operation }) => operation === 'create').map(({ key }) => key)
    assert.equal(creates.at(-1), 'b1/manifests/00000003.json')
    assert.ok(creates.some(key => firstSegment.test(key)))
  })

  test('has its own manifest where the target encrypts in another way, and knows it again', async () => {
    const { source, target } = await stage(2)
    const adaptManifest = (bytes: Buffer) => {
      const { checksum: _, ...document } = Object(parseJson(bytes.toString()))
      return sealJson({ ...document, encryption: { data_key: 'k1', cipher: 'AES-256-GCM', hide_names: false } })
    }
    const sides = { source, target, adaptManifest }
    assert.deepEqual((await copy(sides)).generations, [1, 2])
    assert.match(String(target.objects.get('b1/manifests/00000002.json')), /"encryption"/)
    assert.match(String(target.objects.get('b1/manifest.json')), /"encryption"/)
    assert.deepEqual((await copy(sides)).generations, [])
  })
})

test('a copy from or to a backup that is given up is refused', async () => {
  for (const marked of ['source', 'target'] as const) {
    const sides = await stage(2)
    await copy(sides, { generation: 1 })
    sides[marked].objects.set('b1/manifests/pruned.json', Buffer.from('{}'))
    await assert.rejects(copy(sides), error => hasCode(error, 'BACKUP_PRUNED'))
    sides[marked].objects.delete('b1/manifests/pruned.json')
    assert.deepEqual(await assertWhole(sides.target), [1])
  }
})

describe('damage at the source', () => {
  test('of a segment is named, and keeps back the generations that name it', async () => {
    const { source, target } = await stage()
    const key = keyOf(source, lastSegment)
    damage(source, key)
    const report = await copy({ source, target })
    assert.deepEqual([report.ok, report.generations], [false, [1, 2]])
    assert.deepEqual(
      report.problems.map(problem => problem.key),
      [key],
    )
    assert.match(report.problems[0]?.problem ?? '', /hash is not the recorded one/)
    assert.ok(!target.objects.has(key))
    assert.deepEqual(await assertWhole(target), [1, 2])
    // Still so the next time, and healed when the source is.
    assert.equal((await copy({ source, target })).ok, false)
    damage(source, key)
    assert.deepEqual((await copy({ source, target })).generations, [3])
    assertSameObjects(source, target)
  })

  test('of a segment that all generations name keeps all of them back', async () => {
    const { source, target } = await stage()
    damage(source, keyOf(source, firstSegment))
    const report = await copy({ source, target })
    assert.deepEqual([report.generations, report.newest_generation], [[], null])
    assert.deepEqual(await assertWhole(target), [])
    assert.ok(!target.objects.has('b1/manifest.json'))
  })

  test('of a large segment leaves no unfinished object', async () => {
    const { source, target } = await stage(1, 3 << 20)
    const key = keyOf(source, firstSegment)
    damage(source, key)
    assert.deepEqual(
      (await copy({ source, target })).problems.map(problem => problem.key),
      [key],
    )
    assert.deepEqual([target.openWriters.size, target.objects.has(key)], [0, false])
  })

  for (const [what, pattern, generations] of [
    ['an index', /orders\/1\/index-3\./, [1, 2]],
    ['positions of groups', /groups-2\./, [1, 3]],
    ['a schema', /v3\.avsc$/, [1, 2]],
    ['a manifest', /manifests\/00000002/, [1, 3]],
  ] as const) {
    test(`of ${what} is named, and the other generations are copied`, async () => {
      for (const harm of [
        damage,
        (storage: MemoryStorage, key: string) => void storage.objects.set(key, Buffer.from('{')),
      ]) {
        const { source, target } = await stage()
        const key = keyOf(source, pattern)
        harm(source, key)
        const report = await copy({ source, target })
        assert.deepEqual([report.ok, report.generations], [false, generations])
        assert.deepEqual(
          report.problems.map(problem => problem.key),
          [key],
        )
        assert.deepEqual(await assertWhole(target), generations)
      }
    })
  }

  test('of an object that is gone is named', async () => {
    const { source, target } = await stage(2)
    for (const pattern of [/orders\/1\/0+3\.run2\.log$/, /orders\/0\/index-2\./]) {
      const key = keyOf(source, pattern)
      source.objects.delete(key)
      const report = await copy({ source, target })
      assert.deepEqual([report.ok, report.generations.includes(2)], [false, false])
      assert.ok(report.problems.some(problem => problem.key === key && /is missing/.test(problem.problem)))
    }
  })

  test('is foreseen by a dry run as far as manifests and indexes tell', async () => {
    const { source, target } = await stage()
    damage(source, keyOf(source, /orders\/1\/index-3\./))
    const { ok, generations } = await copy({ source, target }, { dryRun: true })
    assert.deepEqual([ok, generations], [false, [1, 2]])
  })

  test('of a manifest that both sides have does not keep new generations back', async () => {
    const { source, target, manifests } = await stage(2)
    await copy({ source, target })
    damage(source, 'b1/manifests/00000002.json')
    await storeGenerations(source, 1, { after: manifests[1] ?? assert.fail() })
    const report = await copy({ source, target })
    assert.deepEqual([report.ok, report.generations], [false, [3]])
    assert.deepEqual(
      report.problems.map(({ key }) => key),
      ['b1/manifests/00000002.json'],
    )
  })

  for (const key of ['other/manifests/00000001.json', 'b1/manifests/pruned.json', 'b1/kafka/../../evil.json']) {
    test(`a manifest that names ${key} as its groups is refused, and nothing is copied`, async () => {
      const { source, target, manifests } = await stage(1)
      const [manifest] = manifests
      if (manifest?.consumer_groups?.state !== 'taken') assert.fail()
      const forged = { ...manifest, consumer_groups: { ...manifest.consumer_groups, key } }
      source.objects.set('b1/manifests/00000001.json', sealJson(forged))
      const report = await copy({ source, target })
      assert.ok(report.problems[0]?.problem.includes(`it names "${key}", which is not a file of consumer groups`))
      assert.ok(!target.objects.has(key) && !target.objects.has('b1/manifests/00000001.json'))
    })
  }
})

describe('a target', () => {
  const writesOf = (calls: readonly { operation: string }[]) =>
    calls.filter(({ operation }) => /create|replace|openWriter|remove/.test(operation))

  async function refusal(source: MemoryStorage, target: MemoryStorage, options = {}) {
    const watched = withFaults(target, [])
    const error = await copy({ source, target: watched }, options).catch(error => error)
    assert.deepEqual(writesOf(watched.calls), [])
    return error
  }

  test('that holds another backup of the same id is refused before anything is written', async () => {
    const { source, target } = await stage()
    await storeGenerations(target, 2, { run: 'other' })
    const error = await refusal(source, target)
    assert.ok(hasCode(error, 'WRITER_CONFLICT'))
    assert.match(error.message, /`b1` at memory is not a copy of the source: its generation 2 is another one/)
  })

  test('that was backed up to by itself is refused', async () => {
    const { source, target, manifests } = await stage(2)
    await copy({ source, target })
    await storeGenerations(target, 1, { after: manifests[1] ?? assert.fail(), run: 'own' })
    assert.match((await refusal(source, target)).message, /it has generation 3, and the newest of the source is 2/)
    await storeGenerations(source, 2, { after: manifests[1] ?? assert.fail() })
    assert.match((await refusal(source, target)).message, /its generation 3 is another one/)
  })

  /** As archives of the time before lineages are. */
  function withoutLineage({ objects }: MemoryStorage): void {
    for (const [key, body] of objects) {
      if (!/\/manifests\/\d+\.json$/.test(key)) continue
      const { checksum: _, lineage: __, ...manifest } = parseJson(body.toString('utf8')) as Record<string, unknown>
      objects.set(key, sealJson(manifest))
    }
  }

  test('that shares no generation is known by its data where neither side has a lineage', async () => {
    const { source, target } = await stage()
    const others = openMemoryStorage()
    await storeGenerations(others, 2, { run: 'other' })
    for (const storage of [source, others]) withoutLineage(storage)
    await copy({ source, target }, { generation: 2 })
    for (const storage of [source, others]) {
      storage.objects.delete('b1/manifests/00000002.json')
      if (storage === source) storage.objects.delete('b1/manifests/00000001.json')
    }
    assert.deepEqual((await copy({ source, target })).generations, [3])
    assert.match((await refusal(source, others)).message, /no generation and no data of it are those of the source/)
  })

  test('that shares neither a generation nor data is brought forward where the lineage is the same', async () => {
    const { source, target, manifests } = await stage(1)
    await copy({ source, target })
    // A compacted backup that was read again: other runs have written all that it holds now.
    const { lineage } = manifests[0] ?? assert.fail()
    const later = openMemoryStorage()
    const after = { ...(manifests[0] ?? assert.fail()), topics: [], generation: 4 }
    delete after.schema_registry
    delete after.consumer_groups
    const [fifth] = await storeGenerations(later, 1, { after, run: 'again' })
    assert.equal(fifth?.lineage, lineage)
    assert.deepEqual((await copy({ source: later, target })).generations, [5])
    assert.deepEqual(await assertWhole(target), [1, 5])
  })

  test('of another lineage is refused, though it shares no generation', async () => {
    const { target } = await stage(0)
    await storeGenerations(target, 1, { run: 'other' })
    const source = openMemoryStorage()
    await storeGenerations(source, 2)
    source.objects.delete('b1/manifests/00000001.json')
    const error = await refusal(source, target)
    assert.ok(hasCode(error, 'WRITER_CONFLICT'))
    assert.match(error.message, /it has the lineage [0-9a-f]{32}, and the source has [0-9a-f]{32}$/)
    withoutLineage(target)
    assert.match((await refusal(source, target)).message, /it has the lineage none, and the source has [0-9a-f]{32}$/)
  })

  test('with an object of another size is refused by its name', async () => {
    const { source, target } = await stage()
    await copy({ source, target }, { generation: 1 })
    const key = keyOf(target, firstSegment)
    target.objects.set(key, Buffer.from('cut'))
    const error = await refusal(source, target)
    assert.ok(hasCode(error, 'ARCHIVE_DAMAGED'))
    assert.match(error.message, new RegExp(`^${key} at memory .* it has 3 bytes instead of \\d+$`))
  })

  test('is read back when that is asked for, and what was changed is named', async () => {
    const { source, target } = await stage()
    await copy({ source, target })
    const sound = await copy({ source, target }, { verifyExisting: true })
    assert.deepEqual([sound.ok, sound.existing_verified, sound.objects], [true, true, 0])
    assert.equal(sound.existing_objects, namedIn(source).length)
    const key = keyOf(target, firstSegment)
    damage(target, key)
    assert.equal((await copy({ source, target })).ok, true)
    const found = await copy({ source, target }, { verifyExisting: true })
    assert.deepEqual([found.ok, found.problems.map(problem => problem.key)], [false, [key]])
    assert.match(found.problems[0]?.problem ?? '', /^at memory: its BLAKE3 hash/)
  })

  test('with a damaged manifest is refused by its name', async () => {
    const { source, target } = await stage()
    await copy({ source, target })
    damage(target, 'b1/manifests/00000003.json')
    const error = await refusal(source, target)
    assert.ok(hasCode(error, 'ARCHIVE_DAMAGED'))
    assert.match(error.message, /^b1\/manifests\/00000003\.json at memory is damaged/)
  })

  test('may be copied to twice at once', async () => {
    const { source, target } = await stage()
    const reports = await Promise.all([copy({ source, target }), copy({ source, target })])
    assert.deepEqual(
      reports.map(({ ok }) => ok),
      [true, true],
    )
    assertSameObjects(source, target)
  })

  test('that fails ends the copy with its error, and no object under way is left', async () => {
    const { source, target } = await stage(2, 3 << 20)
    const faulty = withFaults(target, [{ on: 'write', nth: 3, effect: { kind: 'throw-before' } }])
    await assert.rejects(copy({ source, target: faulty }), { code: 'STORAGE_UNAVAILABLE' })
    faulty.verifyAllFaultsExercised()
    assert.equal(target.openWriters.size, 0)
    assert.deepEqual(await assertWhole(target), [])
    await copy({ source, target })
    assertSameObjects(source, target)
  })
})

test('a copy that is interrupted rejects with the reason, and the next one goes on', async () => {
  const { source, target } = await stage()
  const stop = new AbortController()
  const onProgress = (event: ProgressEvent) => {
    if (event.type === 'committed') stop.abort(new Error('enough'))
  }
  await assert.rejects(copy({ source, target }, { onProgress }, stop.signal), /enough/)
  assert.deepEqual(await assertWhole(target), [1])
  assert.deepEqual((await copy({ source, target })).generations, [2, 3])
})

test('a backup that is not there is told with those that are', async () => {
  const [source, target] = [openMemoryStorage(), openMemoryStorage()]
  await storeGenerations(source, 1, { backupId: 'b2' })
  await assert.rejects(copy({ source, target }), { code: 'BACKUP_NOT_FOUND', message: /there are: b2/ })
})

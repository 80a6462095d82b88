import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { listGenerations, newestState, openBackup } from '../../src/archive/catalog.ts'
import { noChange } from '../../src/archive/log/change.ts'
import { commitKey } from '../../src/archive/log/keys.ts'
import { LogWriter } from '../../src/archive/log/log-writer.ts'
import { firstCommitOf, readCommit } from '../../src/archive/log/read-commit.ts'
import { verifyBackup } from '../../src/archive/verify.ts'
import { runContinuous } from '../../src/backup/run-continuous.ts'
import { hasCode, KafkaBackupError } from '../../src/errors.ts'
import { Writer } from '../../src/kafka/wire/writer.ts'
import type { ProgressEvent } from '../../src/observe/progress.ts'
import { commitAgain } from '../../src/retention/trim-backup.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { encodeRun } from '../fakes/batches.ts'
import { API } from '../fakes/fake-broker.ts'
import { type FakeState, type FakeTopic, fakePartition, fakeTopic, startFakeCluster } from '../fakes/fake-cluster.ts'
import { withFaults } from '../fakes/faulty-storage.ts'
import type { JumpingClock } from '../fakes/jumping-clock.ts'
import { type MemoryStorage, openMemoryStorage } from '../fakes/memory-storage.ts'
import { numbersToTry } from '../full.ts'
import { append, fixed, never, play as playScene, RoundClock, runs, type Scene, stopped } from './continuous-scene.ts'

/** As a broker answers that has just learned of the deletion. */
function encodeUnknownConfigs(topic: string): Writer {
  const writer = new Writer().int32(0)
  writer.array([topic], name => {
    writer.int16(3).string(null).int8(2).string(name)
    writer.array([], () => undefined).noTags()
  })
  return writer.noTags()
}

const verify = (storage: Storage) => verifyBackup(storage, 'b1', { deep: true, onProgress: () => undefined }, never)
const committed = (events: ProgressEvent[]) => events.filter(event => event.type === 'committed').length

/** What differs between the versions of the archive. */
interface Format {
  version: 1 | 2
  /** The object that commits generation 2. */
  secondCommit: RegExp
  /** As another process does. */
  commitUnchanged: (storage: Storage, run: string) => Promise<void>
}

const formats: readonly Format[] = [
  {
    version: 1,
    secondCommit: /manifests\/00000002/,
    commitUnchanged: async (storage, run) => {
      await commitAgain(storage, await openBackup(storage, 'b1', never), { run, toolVersion: '0' }, never)
    },
  },
  {
    version: 2,
    secondCommit: /commits\/.*000000000002/,
    commitUnchanged: async (storage, run) => {
      const base = await newestState(storage, 'b1', never)
      const log = await LogWriter.open(storage, base, { backupId: 'b1', newRun: () => run, nowMs: () => 0 }, never)
      const { created_at, started_at, complete } = log.newest ?? assert.fail('nothing is committed')
      await log.commit(
        { tool_version: '0', run, complete, created_at, started_at },
        noChange,
        async () => undefined,
        never,
      )
    },
  },
]

for (const { version, secondCommit, commitUnchanged } of formats)
  describe(`a continuous run of version ${version}`, () => {
    const begins = { beginsLog: version === 2 }
    const play = (scene: Scene) => playScene({ ...scene, options: { ...scene.options, ...begins } })

    test('commits what is new in each round, and nothing where nothing is', async () => {
      const storage = openMemoryStorage()
      const { events, error } = await play({
        topics: [fakeTopic('orders', [runs(0, 2)])],
        storage,
        between: [state => append(state, 0, runs(2, 3)), () => undefined, state => append(state, 0, runs(5, 1))],
      })
      assert.equal(error, stopped)
      assert.deepEqual(await listGenerations(storage, 'b1', never), [1, 2, 3])
      assert.equal(events.filter(event => event.type === 'round' && event.ok).length, 4)
      const report = await verify(storage)
      assert.deepEqual([report.problems, report.records, report.complete, report.warnings], [[], 60, true, []])
    })

    test('on a quiet cluster commits now and then all the same, to say that it is up to date', async () => {
      const storage = openMemoryStorage()
      const anHour = (_: FakeState, clock: JumpingClock) => clock.pass(3_600_000)
      await play({ topics: [fakeTopic('orders', [runs(0, 2)])], storage, between: [() => undefined, anHour] })
      assert.deepEqual(await listGenerations(storage, 'b1', never), [1, 2])
    })

    test('commits a changed selection, though it finds nothing new', async () => {
      const storage = openMemoryStorage()
      const topics = [fakeTopic('orders', [runs(0, 2)])]
      await play({ topics, storage, between: [] })
      await play({ topics, storage, between: [], options: { topics: { include: ['orders'], exclude: [] } } })
      const { generation, selection } = await openBackup(storage, 'b1', never)
      assert.deepEqual([generation, selection.include], [2, ['orders']])
    })

    test('takes in topics and partitions that appear', async () => {
      const storage = openMemoryStorage()
      await play({
        topics: [fakeTopic('orders', [runs(0, 2)])],
        storage,
        between: [
          state => {
            state.topics.push(fakeTopic('late', [runs(0, 1)]))
            state.topics[0]?.partitions.push(fakePartition(runs(0, 4)))
          },
        ],
      })
      const { topics } = await openBackup(storage, 'b1', never)
      assert.deepEqual(
        topics.map(({ name, partitions }) => [name, partitions.map(({ records }) => records)]),
        [
          ['late', [10]],
          ['orders', [20, 40]],
        ],
      )
      assert.deepEqual((await verify(storage)).problems, [])
    })

    test('tells a topic that was re-created apart by its id, though its offsets begin at 0 again', async () => {
      const storage = openMemoryStorage()
      const { events } = await play({
        topics: [fakeTopic('orders', [runs(0, 2)])],
        storage,
        between: [
          state => {
            state.topics = [fakeTopic('orders', [runs(0, 3)], { id: 'f'.repeat(32) })]
          },
        ],
      })
      const { topics } = await openBackup(storage, 'b1', never)
      assert.deepEqual(
        topics.map(({ state, partitions }) => [
          state,
          partitions[0]?.records,
          partitions[0]?.gaps.map(gap => gap.reason),
        ]),
        [
          ['replaced', 20, ['topic_recreated']],
          ['current', 30, []],
        ],
      )
      const report = await verify(storage)
      assert.deepEqual([report.problems, report.records], [[], 50])
      assert.ok(events.some(event => event.type === 'warning' && /created again/.test(event.message)))
    })

    test('continues when a topic is deleted, keeps what it has of it, and records that there may have been more', async () => {
      const storage = openMemoryStorage()
      const { error } = await play({
        topics: [fakeTopic('orders', [runs(0, 2)]), fakeTopic('other', [runs(0, 1)])],
        storage,
        options: { topics: { include: ['orders', 'other'], exclude: [] } },
        between: [state => void state.topics.shift(), state => append(state, 0, runs(1, 1))],
      })
      assert.equal(error, stopped)
      const { topics, generation } = await openBackup(storage, 'b1', never)
      assert.deepEqual(
        topics.map(({ name, state, partitions }) => [name, state, partitions[0]?.records, partitions[0]?.gaps.length]),
        [
          ['orders', 'absent', 20, 1],
          ['other', 'current', 20, 0],
        ],
      )
      assert.equal(generation, 3)
      assert.deepEqual((await verify(storage)).problems, [])
    })

    test('records what retention removed between two rounds as a gap', async () => {
      const storage = openMemoryStorage()
      const { events } = await play({
        topics: [fakeTopic('orders', [runs(0, 2)])],
        storage,
        between: [
          state => {
            append(state, 0, runs(5, 2))
            Object.assign(state.topics[0]?.partitions[0] ?? {}, { logStart: 50n })
          },
        ],
      })
      const report = await verify(storage)
      assert.deepEqual([report.problems, report.records], [[], 40])
      assert.deepEqual(
        report.gaps.map(({ from, to, reason }) => [from, to, reason]),
        [[20n, 50n, 'retention']],
      )
      assert.ok(events.some(event => event.type === 'bounds'))
    })

    test('whose broker is in trouble for a while continues when that is over', async () => {
      const storage = openMemoryStorage()
      const { events, error } = await play({
        topics: [fakeTopic('orders', [runs(0, 2)])],
        storage,
        between: [
          state => {
            append(state, 0, runs(2, 1))
            state.fetchError = () => 5
          },
          state => {
            state.fetchError = () => 0
          },
        ],
      })
      assert.equal(error, stopped)
      assert.deepEqual(
        events.flatMap(event => (event.type === 'round' ? [event.ok] : [])),
        [true, false, true],
      )
      assert.deepEqual([(await verify(storage)).problems, (await verify(storage)).records], [[], 30])
    })

    test('knows its own commit again when only the answer to it was lost', async () => {
      const memory = openMemoryStorage()
      const storage = withFaults(memory, [{ on: 'create', key: secondCommit, nth: 1, effect: { kind: 'throw-after' } }])
      const { error } = await play({
        topics: [fakeTopic('orders', [runs(0, 2)])],
        storage,
        between: [state => append(state, 0, runs(2, 1)), state => append(state, 0, runs(3, 1))],
      })
      assert.equal(error, stopped)
      storage.verifyAllFaultsExercised()
      const report = await verify(memory)
      assert.deepEqual([report.problems, report.records], [[], 40])
    })

    for (const kind of ['throw-before', 'throw-after'] as const) {
      test(`loses and repeats nothing, whichever call to the store fails (${kind})`, async () => {
        const scene = () => ({
          topics: [fakeTopic('orders', [runs(0, 2), runs(0, 3)]), fakeTopic('other', [runs(0, 1)])],
          between: [
            (state: FakeState) => append(state, 0, runs(2, 1)),
            (state: FakeState) => append(state, 1, runs(1, 1)),
            (state: FakeState) => append(state, 0, runs(3, 1)),
            () => undefined,
          ],
        })
        const calm = withFaults(openMemoryStorage(), [])
        await play({ ...scene(), storage: calm })
        for (const nth of numbersToTry(calm.calls.length, kind === 'throw-before' ? 0 : 1)) {
          const memory = openMemoryStorage()
          const { error } = await play({ ...scene(), storage: withFaults(memory, [{ nth, effect: { kind } }]) })
          assert.equal(error, stopped, `call ${nth}`)
          const report = await verify(memory)
          const state = [report.problems, report.gaps, report.records, report.complete]
          assert.deepEqual(state, [[], [], 90, true], `call ${nth}`)
          // A writer that was never returned cannot be aborted.
          if (kind === 'throw-before') assert.deepEqual([...memory.openWriters], [], `call ${nth}`)
        }
      })
    }

    test('ends with WRITER_CONFLICT when another process extends the same backup', async () => {
      const storage = openMemoryStorage()
      const { error } = await play({
        topics: [fakeTopic('orders', [runs(0, 2)])],
        storage,
        between: [
          async state => {
            append(state, 0, runs(2, 1))
            await commitUnchanged(storage, 'other')
          },
        ],
      })
      assert.equal((error as { code?: string }).code, 'WRITER_CONFLICT')
    })

    test('continues after its own prune has committed and then failed', async () => {
      const storage = openMemoryStorage()
      let times = 0
      const { error } = await play({
        topics: [fakeTopic('orders', [runs(0, 2)])],
        storage,
        between: [state => append(state, 0, runs(2, 1)), () => undefined],
        afterRound: async newest => {
          if (++times > 1) return newest
          await commitUnchanged(storage, 'prune')
          throw new KafkaBackupError('STORAGE_UNAVAILABLE', 'the store is away')
        },
      })
      assert.equal(error, stopped)
      const report = await verify(storage)
      assert.deepEqual([report.problems, report.records], [[], 30])
    })

    test('whose generations are gone after trouble ends with that, and does not begin a new backup in silence', async () => {
      const memory = openMemoryStorage()
      const storage = withFaults(memory, [
        { on: 'create', key: secondCommit, nth: 1, effect: { kind: 'throw-before' } },
      ])
      const { error } = await play({
        topics: [fakeTopic('orders', [runs(0, 2)])],
        storage,
        between: [
          state => append(state, 0, runs(2, 1)),
          // As when a volume is unmounted and its empty mount point is left.
          () => memory.objects.clear(),
          () => undefined,
        ],
      })
      assert.equal((error as { code?: string }).code, 'ARCHIVE_DAMAGED')
      assert.match((error as Error).message, /generation 1 of backup `b1`/)
      assert.equal(memory.objects.size, 0)
    })

    test('that is stopped warns if its last generation is gone, and commits no other one in its place', async () => {
      const storage = openMemoryStorage()
      const { error, events } = await play({
        topics: [fakeTopic('orders', [runs(0, 2)])],
        storage,
        between: [
          state => append(state, 0, runs(2, 1)),
          async () => {
            const key = [...storage.objects.keys()].find(one => secondCommit.test(one)) ?? assert.fail('no commit')
            await storage.remove(key, never)
          },
        ],
      })
      assert.equal(error, stopped)
      const warnings = events.flatMap(event => (event.type === 'warning' ? [event.message] : []))
      assert.ok(
        warnings.some(message => /generation 2 of backup `b1` was there/.test(message)),
        warnings.join('\n'),
      )
      assert.deepEqual(await listGenerations(storage, 'b1', never), [1])
    })

    test('keeps house also while a partition has no leader, and reports that partition when it is stopped', async () => {
      const storage = openMemoryStorage()
      let listings = 0
      const listFolders: Storage['listFolders'] = (prefix, signal) => {
        listings++
        return storage.listFolders(prefix, signal)
      }
      const topics = [fakeTopic('orders', [runs(0, 1), runs(0, 1)])]
      const second = topics[0]?.partitions[1] ?? assert.fail()
      second.leader = -1
      let pruned = 0
      const grow = (count: number) => (state: FakeState) => append(state, 0, runs(count, 1))
      const { error, events } = await play({
        topics,
        storage: { ...storage, listFolders },
        between: Array.from({ length: 12 }, (_, i) => grow(i + 1)),
        afterRound: async newest => {
          pruned++
          return newest
        },
      })
      assert.equal(error, stopped)
      assert.deepEqual(
        events.flatMap(event => (event.type === 'round' ? [event.ok] : [])),
        Array.from({ length: 13 }, () => false),
      )
      // The newest generation is searched when the run begins and when it ends, not in every round.
      assert.ok(listings <= 4, `${listings} listings`)
      assert.equal(pruned, 13)
      if (version === 2) assert.ok([...storage.objects.keys()].some(key => key.includes('/rollups/')))
      const warnings = events.flatMap(event => (event.type === 'warning' ? [event.message] : []))
      const last = /^the last round before the run was stopped did not copy everything: .*orders\/1/
      assert.equal(warnings.filter(message => last.test(message)).length, 1)
      const report = await verify(storage)
      assert.deepEqual([report.problems, report.records, report.complete], [[], 130, false])
    })

    test('ends with a new gap that the job does not allow, though another partition has no leader', async () => {
      const topics = [fakeTopic('orders', [runs(0, 2), runs(0, 1)])]
      const second = topics[0]?.partitions[1] ?? assert.fail()
      second.leader = -1
      const { error } = await play({
        topics,
        storage: openMemoryStorage(),
        options: { onGap: 'fail' },
        between: [
          state => {
            append(state, 0, runs(5, 2))
            Object.assign(state.topics[0]?.partitions[0] ?? {}, { logStart: 50n })
          },
          () => undefined,
        ],
      })
      assert.ok(hasCode(error, 'GAP_FOUND'))
    })

    test('continues when a topic is deleted while the cluster is observed', async () => {
      const storage = openMemoryStorage()
      let described = 0
      const { error, events } = await play({
        topics: [fakeTopic('orders', [runs(0, 2)]), fakeTopic('other', [runs(0, 1)])],
        storage,
        between: [
          state => {
            state.intercept = ({ key }) =>
              key === API.describeConfigs && described++ === 0 ? encodeUnknownConfigs('orders') : undefined
          },
          state => void state.topics.shift(),
        ],
      })
      assert.equal(error, stopped)
      assert.deepEqual(
        events.flatMap(event => (event.type === 'round' ? [event.ok] : [])),
        [true, false, true],
      )
    })

    test('whose topic is hidden for a while has all of it afterwards, and no gap', async () => {
      const storage = openMemoryStorage()
      let hidden: FakeTopic | undefined
      const { events } = await play({
        topics: [fakeTopic('orders', [runs(0, 2)]), fakeTopic('other', [runs(0, 1)])],
        storage,
        between: [
          state => {
            hidden = state.topics.shift()
          },
          state => {
            state.topics.unshift(hidden ?? assert.fail())
          },
        ],
      })
      assert.equal(events.filter(event => event.type === 'gap').length, 1)
      const { topics } = await openBackup(storage, 'b1', never)
      assert.deepEqual(
        topics.map(({ state }) => state),
        ['current', 'current'],
      )
      const report = await verify(storage)
      assert.deepEqual([report.problems, report.gaps, report.records], [[], [], 30])
    })

    test('begins its next round in time, though its looks at the cluster in between take long', async () => {
      const times: number[] = []
      await play({
        topics: [fakeTopic('orders', [runs(0, 2)])],
        storage: openMemoryStorage(),
        between: [
          (state, clock) => {
            times.push(clock.now())
            state.intercept = ({ key }) => void (key === API.listOffsets && clock.pass(10_000))
          },
          (_, clock) => void times.push(clock.now()),
        ],
      })
      // One rest of a minute, and a round whose own look takes thirty seconds.
      assert.equal((times[1] ?? 0) - (times[0] ?? 0), 90_000)
    })

    test('commits by the hour also when the last generation bears a time to come', async () => {
      const storage = openMemoryStorage()
      const back = (_: FakeState, clock: RoundClock) => {
        clock.setMs = -7 * 24 * 3_600_000
      }
      await play({ topics: [fakeTopic('orders', [runs(0, 2)])], storage, between: [back] })
      assert.deepEqual(await listGenerations(storage, 'b1', never), [1, 2])
    })

    test('that is stopped in the middle of a round commits what is durable', async () => {
      const storage = openMemoryStorage()
      const topics = [fakeTopic('orders', [runs(0, 2)])]
      const fake = await startFakeCluster(topics)
      const controller = new AbortController()
      fake.state.intercept = ({ key, nth }) => {
        if (key === API.fetch && nth === 1) controller.abort(stopped)
        return undefined
      }
      topics[0]?.partitions.push(
        fakePartition(Array.from({ length: 60 }, (_, i) => encodeRun(BigInt(i * 10), 10, { valueBytes: 20_000 }))),
      )
      try {
        const parts = {
          cluster: await fake.open(),
          storage,
          clock: new RoundClock(async () => undefined),
          toolVersion: '0',
        }
        const events: ProgressEvent[] = []
        const onProgress = (event: ProgressEvent) => void events.push(event)
        const run = runContinuous(
          { ...fixed, ...begins },
          { ...parts, newRun: () => 'r', onProgress },
          controller.signal,
        )
        await assert.rejects(run, error => error === stopped)
        assert.equal(committed(events), 1)
      } finally {
        await fake.close()
      }
      const report = await verify(storage)
      assert.deepEqual([report.problems, report.complete], [[], false])
      assert.ok(report.records > 0)
    })
  })

test('a continuous run whose rounds keep failing for one partition copies the others, and rolls up its commits', async () => {
  const storage = openMemoryStorage()
  const grow = (count: number) => (state: FakeState) => {
    append(state, 0, runs(count, 1))
    state.fetchError = (_topic, partition) => (partition === 1 ? 56 : 0)
  }
  const { error, events } = await playScene({
    topics: [fakeTopic('orders', [runs(0, 1), []])],
    storage,
    options: { beginsLog: true },
    between: [
      state => {
        Object.assign(state.topics[0]?.partitions[1] ?? {}, fakePartition(runs(0, 1)))
        grow(1)(state)
      },
      ...Array.from({ length: 11 }, (_, i) => grow(i + 2)),
    ],
  })
  assert.equal(error, stopped)
  assert.ok(events.filter(event => event.type === 'round' && !event.ok).length >= 12)
  const report = await verify(storage)
  assert.deepEqual([report.problems, report.records, report.complete], [[], 130, false])
  const [newest = 0] = (await listGenerations(storage, 'b1', never)).slice(-1)
  const { commit } = await readCommit(storage, 'b1', newest, never)
  assert.ok(newest - firstCommitOf(commit) <= 8, `${newest - firstCommitOf(commit)} commits are not rolled up`)
})

test('a continuous run that cannot commit for long writes a roll-up once, and names it in its next commit', async () => {
  const storage = openMemoryStorage()
  const rollups = () => [...storage.objects.keys()].filter(key => key.startsWith('b1/rollups/')).length
  const grow = (count: number) => (state: FakeState) => append(state, 0, runs(count, 1))
  const found: number[] = []
  const { error } = await playScene({
    topics: [fakeTopic('orders', [runs(0, 1)])],
    storage,
    options: { beginsLog: true },
    between: [
      ...Array.from({ length: 7 }, (_, i) => grow(i + 1)),
      state => {
        state.intercept = ({ key }) => (key === API.describeConfigs ? encodeUnknownConfigs('orders') : undefined)
      },
      ...Array.from({ length: 5 }, () => () => void found.push(rollups())),
      state => {
        state.intercept = () => undefined
        grow(8)(state)
      },
    ],
  })
  assert.equal(error, stopped)
  // The first look may be during the tidying that follows the last commit.
  const [, settled = 0, ...later] = found
  assert.ok(settled > 0)
  assert.deepEqual([...later, rollups()], [settled, settled, settled, settled])
  const [newest = 0] = (await listGenerations(storage, 'b1', never)).slice(-1)
  const { commit } = await readCommit(storage, 'b1', newest, never)
  assert.equal(firstCommitOf(commit), newest)
  assert.deepEqual((await verify(storage)).problems, [])
})

describe('a continuous run whose newest commit is not what it has committed', () => {
  const key = commitKey('b1', 2)
  const appendMore = (state: FakeState) => append(state, 0, runs(2, 1))
  const playChanged = (storage: MemoryStorage, change: () => Promise<void>) =>
    playScene({
      topics: [fakeTopic('orders', [runs(0, 2)])],
      storage,
      options: { beginsLog: true },
      between: [
        appendMore,
        async state => {
          append(state, 0, runs(3, 1))
          await change()
        },
        () => undefined,
      ],
    })

  test('ends with an error that names it if it was removed, and the next run continues what is left', async () => {
    const storage = openMemoryStorage()
    const { error } = await playChanged(storage, () => storage.remove(key, never))
    assert.ok(hasCode(error, 'ARCHIVE_DAMAGED'))
    assert.match(error.message, new RegExp(key))
    assert.deepEqual(await listGenerations(storage, 'b1', never), [1])
    const topics = [fakeTopic('orders', [runs(0, 4)])]
    const { error: end, events } = await playScene({ topics, storage, between: [], name: 'next' })
    assert.equal(end, stopped)
    assert.ok(events.some(event => event.type === 'warning' && /generation 2 is lost/.test(event.message)))
    const report = await verify(storage)
    assert.deepEqual([report.problems, report.gaps, report.records], [[], [], 40])
  })

  test('ends with WRITER_CONFLICT if another writer has replaced it, and changes nothing of that one', async () => {
    const storage = openMemoryStorage()
    const other = openMemoryStorage()
    const scene = { topics: [fakeTopic('orders', [runs(0, 2)])], options: { beginsLog: true }, name: 'other' }
    await playScene({ ...scene, storage: other, between: [appendMore] })
    const { error } = await playChanged(storage, async () => {
      await storage.replace(key, await other.read(key, never), never)
    })
    assert.ok(hasCode(error, 'WRITER_CONFLICT'))
    assert.match(error.message, new RegExp(key))
    assert.deepEqual(await listGenerations(storage, 'b1', never), [1, 2])
  })
})

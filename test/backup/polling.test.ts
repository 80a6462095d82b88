import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { listGenerations, openBackup, readManifest } from '../../src/archive/catalog.ts'
import { describeBackup } from '../../src/archive/describe.ts'
import { readGroups } from '../../src/archive/groups.ts'
import { manifestKey } from '../../src/archive/layout.ts'
import type { Manifest } from '../../src/archive/manifest.ts'
import { readRegistryAt } from '../../src/archive/registry-at.ts'
import type { RegistrySnapshot } from '../../src/archive/registry-model.ts'
import { verifyBackup } from '../../src/archive/verify.ts'
import type { BackupParts, GroupsReading } from '../../src/backup/round.ts'
import { KafkaBackupError } from '../../src/errors.ts'
import { StoredSchemas } from '../../src/inspect/stored-schemas.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { API } from '../fakes/fake-broker.ts'
import { type FakeState, fakeTopic } from '../fakes/fake-cluster.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { snapshotOf, versionOf } from '../fakes/registry-snapshots.ts'
import { append, play, runs, stopped } from './continuous-scene.ts'

const never = new AbortController().signal
const options = { pollIntervalMs: 180_000 }
const grow = (state: FakeState) => append(state, 0, runs(Number(state.topics[0]?.partitions[0]?.highWatermark) / 10, 1))
const orders = () => [fakeTopic('orders', [runs(0, 2)])]

/** A registry whose schemas the test adds to, and what was asked of it. */
class ScriptedRegistry {
  ids = [1]
  reads = 0
  fails = false

  readonly read = async (): Promise<RegistrySnapshot> => {
    this.reads++
    if (this.fails) throw new KafkaBackupError('REGISTRY_UNREACHABLE', 'the registry is down')
    const takenAt = `2026-11-17T00:00:${String(this.reads).padStart(2, '0')}.000Z`
    return snapshotOf(
      this.ids.map(id => versionOf('orders-value', id, id)),
      { takenAt },
    )
  }
}

async function generationsOf(storage: Storage): Promise<Manifest[]> {
  const numbers = await listGenerations(storage, 'b1', never)
  return Promise.all(numbers.map(number => readManifest(storage, 'b1', number, never)))
}

async function idsAt(storage: Storage, manifest: Manifest) {
  const { versions, notice } = (await readRegistryAt(storage, manifest, never)) ?? assert.fail('it holds no schemas')
  // `cat` reads them one by one, and finds the same.
  const schemas = new StoredSchemas(storage, manifest)
  const found = new Set<number>()
  for (const { id } of versions) for (const one of await schemas.ofId('.', id, never)) found.add(one.id)
  assert.deepEqual([...found].sort(), versions.map(({ id }) => id).sort())
  return { ids: versions.map(({ id }) => id), notice }
}

const groupsReading = (): GroupsReading => ({ groups: [], left_out: [], warnings: ['groups may be hidden'] })
const emptyAccess: NonNullable<BackupParts['readAccess']> = async () => ({
  acls: { state: 'taken', items: [] },
  quotas: { state: 'off' },
  users: { state: 'off' },
})

test('a round asks twice for the leaders of the partitions: when it looks at the source, and when it deals out the reading', async () => {
  const counts: number[] = []
  let asked = 0
  const count = (state: FakeState) => {
    state.intercept = ({ key }) => {
      if (key === API.metadata) asked++
      return undefined
    }
    counts.push(asked)
    asked = 0
    grow(state)
  }
  await play({ topics: orders(), storage: openMemoryStorage(), options, between: [count, count, count] })
  const looksBetweenRounds = 3
  assert.deepEqual(
    counts.slice(1).map(all => all - looksBetweenRounds),
    [2, 2],
  )
})

describe('a continuous run with its own interval of polling', () => {
  test('asks the registry, groups, settings and ACLs nothing in the rounds between two polls', async () => {
    const storage = openMemoryStorage()
    const registry = new ScriptedRegistry()
    const asked: string[] = []
    const requests: number[] = []
    const count = (state: FakeState) => {
      requests.push(asked.length)
      grow(state)
    }
    const { events, error } = await play({
      topics: orders(),
      storage,
      options,
      readers: {
        readRegistry: async () => {
          asked.push('registry')
          return registry.read()
        },
        readGroups: async () => {
          asked.push('groups')
          return groupsReading()
        },
        readAccess: async signal => {
          asked.push('access')
          return emptyAccess(signal)
        },
      },
      between: [
        state => {
          state.intercept = ({ key }) => {
            if (key === API.describeConfigs) asked.push('settings')
            return undefined
          }
          count(state)
        },
        count,
        count,
        count,
      ],
    })
    assert.equal(error, stopped)
    // The first and the fourth round poll, and the end of the run reads all of it for its last generation.
    assert.deepEqual(requests, [3, 3, 3, 7])
    const poll = ['settings', 'registry', 'groups', 'access']
    assert.deepEqual(asked.slice(3), [...poll, 'registry', 'settings', 'groups', 'access'])
    const all = await generationsOf(storage)
    assert.deepEqual(
      all.map(({ carried_sections }) => carried_sections?.length ?? 0),
      [0, 3, 3, 0, 3, 0],
    )
    assert.deepEqual(
      all.map(({ topic_settings_at }) => topic_settings_at !== undefined),
      [false, true, true, false, true, false],
    )
    const [first, second] = all
    assert.deepEqual(second?.schema_registry, first?.schema_registry)
    assert.deepEqual(second?.consumer_groups, first?.consumer_groups)
    assert.deepEqual(second?.access, first?.access)
    assert.ok(all.every(({ warnings }) => warnings.includes('groups may be hidden')))
    assert.equal(events.filter(event => event.type === 'warning').length, 2)
    assert.equal(events.filter(event => event.type === 'polled').length, 2)
    const report = await verifyBackup(storage, 'b1', { deep: true, onProgress: () => undefined }, never)
    assert.deepEqual([report.problems, report.records], [[], 60])
    const { carried_sections, topic_settings_at, schema_registry } = await describeBackup(storage, 'b1', {}, never)
    assert.deepEqual(carried_sections, [])
    assert.equal(topic_settings_at, all.at(-1)?.started_at)
    assert.equal(schema_registry.taken_at, '2026-11-17T00:00:03.000Z')
  })

  test('gives a generation the first schemas that were read after its ends were fixed', async () => {
    const storage = openMemoryStorage()
    const registry = new ScriptedRegistry()
    const register = (id: number) => (state: FakeState) => {
      registry.ids.push(id)
      grow(state)
    }
    await play({
      topics: orders(),
      storage,
      options,
      readers: { readRegistry: registry.read },
      between: [register(2), register(3), register(4), register(5)],
    })
    const all = await generationsOf(storage)
    assert.deepEqual(await Promise.all(all.map(one => idsAt(storage, one))), [
      { ids: [1], notice: undefined },
      { ids: [1, 2, 3, 4], notice: undefined },
      { ids: [1, 2, 3, 4], notice: undefined },
      { ids: [1, 2, 3, 4], notice: undefined },
      { ids: [1, 2, 3, 4, 5], notice: undefined },
      { ids: [1, 2, 3, 4, 5], notice: undefined },
    ])
  })

  test('gives notice where the first schemas after a generation may be lost, and works with those that are left', async () => {
    const withLost = async (lose: (storage: Storage) => Promise<void>) => {
      const storage = openMemoryStorage()
      const registry = new ScriptedRegistry()
      const register = (id: number) => (state: FakeState) => {
        registry.ids.push(id)
        grow(state)
      }
      const between = [2, 3, 4, 5, 6, 7].map(register)
      await play({ topics: orders(), storage, options, readers: { readRegistry: registry.read }, between })
      const [, second] = await generationsOf(storage)
      await lose(storage)
      return idsAt(storage, second ?? assert.fail())
    }
    const begin =
      'the next schemas in the backup are those of generation 7, read at 2026-11-17T00:00:03.000Z; earlier ones'
    const end = 'missing or damaged: schemas that were registered and removed in between are missing'
    assert.equal((await withLost(async () => undefined)).notice, undefined)
    for (const lost of [
      [4, 5, 6],
      [3, 4, 5, 6],
    ]) {
      const pruned = await withLost(async storage => {
        for (const one of lost) await storage.remove(manifestKey('b1', one), never)
      })
      const which = `generations ${lost[0]} to 6, which are`
      assert.deepEqual(pruned, { ids: [1, 2, 3, 4, 5, 6, 7], notice: `${begin} may have been in ${which} ${end}` })
    }
    // The one that is damaged is not the first with other schemas.
    const third = await withLost(storage => storage.replace(manifestKey('b1', 3), Buffer.from('{'), never))
    assert.deepEqual(third.ids, [1, 2, 3, 4])
    const fourth = await withLost(storage => storage.replace(manifestKey('b1', 4), Buffer.from('{'), never))
    assert.deepEqual(fourth.ids, [1, 2, 3, 4])
    assert.match(fourth.notice ?? '', /in generation 4, which is missing or damaged/)
  })

  test('keeps the schemas of a generation, though the registry has lost them by the next poll', async () => {
    const storage = openMemoryStorage()
    const registry = new ScriptedRegistry()
    registry.ids = [1, 2]
    await play({
      topics: orders(),
      storage,
      options,
      readers: { readRegistry: registry.read },
      between: [
        grow,
        state => {
          registry.ids = []
          grow(state)
        },
        grow,
      ],
    })
    const [, second, , fourth] = await generationsOf(storage)
    assert.ok(second && fourth)
    assert.deepEqual(await idsAt(storage, second), { ids: [1, 2], notice: undefined })
    assert.deepEqual(await idsAt(storage, fourth), { ids: [], notice: undefined })
  })

  test('whose registry fails at its end warns, and so does a reader of the last generation', async () => {
    const storage = openMemoryStorage()
    const registry = new ScriptedRegistry()
    const { events, error } = await play({
      topics: orders(),
      storage,
      options,
      readers: { readRegistry: registry.read },
      between: [
        state => {
          registry.fails = true
          grow(state)
        },
      ],
    })
    assert.equal(error, stopped)
    const warnings = events.flatMap(event => (event.type === 'warning' ? [event.message] : []))
    assert.deepEqual(warnings, [
      'the run ends, and schemas could not be read once more; changes since the last reading are missing: the registry is down',
    ])
    const { ids, notice } = await idsAt(storage, await openBackup(storage, 'b1', never))
    assert.deepEqual(ids, [1])
    assert.equal(
      notice,
      'the schemas of generation 3 were read at 2026-11-17T00:00:01.000Z, before its last records were copied; ' +
        'schemas that were registered since are missing',
    )
  })

  test('commits one more generation on a quiet source when the registry was read again, and then none', async () => {
    const storage = openMemoryStorage()
    const registry = new ScriptedRegistry()
    const nothing = () => undefined
    await play({
      topics: orders(),
      storage,
      options,
      readers: { readRegistry: registry.read },
      between: [grow, nothing, nothing, nothing, nothing, nothing, nothing],
    })
    const all = await generationsOf(storage)
    assert.deepEqual(
      all.map(({ carried_sections }) => carried_sections),
      [undefined, ['schema_registry'], undefined],
    )
    assert.equal(registry.reads, 3)
  })

  test('reads groups at once when a topic was re-created: its old offsets would skip new records', async () => {
    const storage = openMemoryStorage()
    const offsets: bigint[] = []
    let reads = 0
    await play({
      topics: [fakeTopic('orders', [runs(0, 9)])],
      storage,
      options: { pollIntervalMs: 6_000_000 },
      readers: {
        readGroups: async ends => {
          reads++
          const end = ends.get('orders')?.get(0) ?? assert.fail('orders has no end')
          offsets.push(end)
          const position = { topic: 'orders', partition: 0, offset: end, leader_epoch: -1, metadata: '', lag: 0n }
          const group = { group: 'g', type: 'classic', state: 'Empty', members: 0, error: null } as const
          return { groups: [{ ...group, positions: [position] }], left_out: [], warnings: [] }
        },
      },
      between: [
        grow,
        state => {
          state.topics = [fakeTopic('orders', [runs(0, 3)], { id: 'f'.repeat(32) })]
        },
        grow,
      ],
    })
    assert.deepEqual([reads, offsets], [3, [90n, 30n, 40n]])
    const all = await generationsOf(storage)
    const positions = all.map(async ({ consumer_groups: section }) => {
      assert.equal(section?.state, 'taken')
      return (await readGroups(storage, section, never)).groups[0]?.positions[0]?.offset
    })
    assert.deepEqual(await Promise.all(positions), [90n, 90n, 30n, 30n, 40n])
    const [old] = all.at(-1)?.topics ?? []
    assert.deepEqual([old?.state, old?.consumer_groups], ['replaced', all[0]?.consumer_groups])
  })

  test('reads the settings of a topic that is new, and of no other, and notices one that is deleted', async () => {
    const storage = openMemoryStorage()
    let settings = 0
    const changes = [
      (state: FakeState) => {
        state.intercept = ({ key }) => {
          if (key === API.describeConfigs) settings++
          return undefined
        }
        state.topics = [
          ...state.topics.map(topic => ({ ...topic, configs: { 'retention.ms': '1' } })),
          fakeTopic('late', [runs(0, 1)], { configs: { 'retention.ms': '2' } }),
        ]
      },
      (state: FakeState) => {
        state.topics = state.topics.filter(({ name }) => name === 'late')
      },
    ]
    await play({ topics: orders(), storage, options, between: changes })
    // The end of the run reads those of all topics.
    assert.equal(settings, 2)
    const { topics } = await openBackup(storage, 'b1', never)
    assert.deepEqual(
      topics.map(({ name, state, configs }) => [name, state, configs]),
      [
        ['orders', 'absent', {}],
        ['late', 'current', { 'retention.ms': '2' }],
      ],
    )
  })

  test('polls again after a round that has failed', async () => {
    const registry = new ScriptedRegistry()
    await play({
      topics: orders(),
      storage: openMemoryStorage(),
      options,
      readers: { readRegistry: registry.read },
      between: [
        state => {
          state.fetchError = () => 56
          grow(state)
        },
        state => {
          state.fetchError = () => 0
        },
        grow,
      ],
    })
    assert.equal(registry.reads, 3)
  })

  test('reads groups and access rules again in the next round if they could not be read, and nothing else', async () => {
    const storage = openMemoryStorage()
    const registry = new ScriptedRegistry()
    let [groupReads, accessReads] = [0, 0]
    const { events } = await play({
      topics: orders(),
      storage,
      options,
      readers: {
        readRegistry: registry.read,
        readGroups: async () => {
          if (++groupReads === 1) throw new KafkaBackupError('KAFKA_UNREACHABLE', 'the coordinator is down')
          return groupsReading()
        },
        readAccess: async signal => {
          const read = await emptyAccess(signal)
          return ++accessReads < 3 ? { ...read, acls: { state: 'failed', error: 'the controller is down' } } : read
        },
      },
      between: [
        state => {
          assert.deepEqual([registry.reads, groupReads, accessReads], [1, 1, 1])
          grow(state)
        },
        state => {
          assert.deepEqual([registry.reads, groupReads, accessReads], [1, 2, 2])
          grow(state)
        },
        () => assert.deepEqual([registry.reads, groupReads, accessReads], [1, 2, 3]),
      ],
    })
    const all = (await generationsOf(storage)).slice(0, 3)
    assert.deepEqual(
      all.map(({ consumer_groups, access, carried_sections }) => [
        consumer_groups?.state,
        access?.acls.state,
        carried_sections,
      ]),
      [
        ['failed', 'failed', undefined],
        ['taken', 'failed', ['schema_registry']],
        ['taken', 'taken', ['schema_registry', 'consumer_groups']],
      ],
    )
    const noGroups = /^consumer groups could not be listed/
    const noRules = /^ACLs could not be read/
    assert.deepEqual(
      all.map(({ warnings }) => [warnings.some(one => noGroups.test(one)), warnings.some(one => noRules.test(one))]),
      [
        [true, true],
        [false, true],
        [false, false],
      ],
    )
    const reported = events.flatMap(event => (event.type === 'warning' ? [event.message] : []))
    assert.equal(reported.filter(one => noRules.test(one)).length, 1)
    const polledIn = events.filter(({ type }) => type === 'round' || type === 'polled').map(({ type }) => type)
    assert.deepEqual(polledIn, ['round', 'round', 'polled', 'round', 'polled', 'round'])
  })

  const atEnd = async (change: (state: FakeState) => void, maxReads = 9) => {
    const storage = openMemoryStorage()
    let state: FakeState | undefined
    let offset = 10n
    const { events } = await play({
      topics: [fakeTopic('orders', [runs(0, 9)], { configs: { 'retention.ms': '1', 'delete.retention.ms': '9' } })],
      storage,
      options: { pollIntervalMs: 6_000_000 },
      readers: {
        readGroups: async () => {
          if (offset >= 10n + BigInt(maxReads))
            throw new KafkaBackupError('KAFKA_UNREACHABLE', 'the coordinator is down')
          const position = { topic: 'orders', partition: 0, offset: offset++, leader_epoch: -1, metadata: '', lag: 0n }
          const group = { group: 'g', type: 'classic', state: 'Empty', members: 0, error: null } as const
          return { groups: [{ ...group, positions: [position] }], left_out: [], warnings: [] }
        },
      },
      between: [
        now => {
          state = now
          grow(now)
        },
      ],
      afterRound: async newest => {
        if (state) change(state)
        return newest
      },
    })
    const newest = await openBackup(storage, 'b1', never)
    const section = newest.consumer_groups?.state === 'taken' ? newest.consumer_groups : assert.fail()
    const { groups } = await readGroups(storage, section, never)
    const settings = newest.topics[0]?.configs
    const warnings = events.flatMap(event => (event.type === 'warning' ? [event.message] : []))
    const { carried_sections: carried, topic_settings_at: at } = newest
    return { carried, hasOldSettings: at !== undefined, settings, offset: groups[0]?.positions[0]?.offset, warnings }
  }
  const withConfigs = (configs: Record<string, string>) => (state: FakeState) => {
    state.topics = state.topics.map(topic => ({ ...topic, configs: { ...topic.configs, ...configs } }))
  }

  test('ends with the committed offsets and topic settings of its end', async () => {
    assert.deepEqual(await atEnd(withConfigs({ 'retention.ms': '2' })), {
      carried: undefined,
      hasOldSettings: false,
      settings: { 'retention.ms': '2', 'delete.retention.ms': '9' },
      offset: 11n,
      warnings: [],
    })
  })

  test('leaves the settings to the next run where they decide which deletions it has seen', async () => {
    assert.deepEqual(await atEnd(withConfigs({ 'retention.ms': '2', 'delete.retention.ms': '3' })), {
      carried: undefined,
      hasOldSettings: true,
      settings: { 'retention.ms': '1', 'delete.retention.ms': '9' },
      offset: 11n,
      warnings: [],
    })
  })

  test('keeps the committed offsets of its records where a topic was re-created at its end', async () => {
    const recreate = (state: FakeState) => {
      state.topics = [fakeTopic('orders', [runs(0, 3)], { id: 'f'.repeat(32) })]
    }
    const { carried, offset } = await atEnd(recreate)
    assert.deepEqual([carried, offset], [['consumer_groups'], 10n])
  })

  for (const [what, change, reason] of [
    [
      'the source lost records at its end',
      (state: FakeState) => {
        state.topics = state.topics.map(topic => ({
          ...topic,
          partitions: fakeTopic('orders', [runs(0, 4)]).partitions,
        }))
      },
      /committed offsets could not be read once more; .*: orders\/0 ends at 40, but this backup holds it up to 100$/,
    ],
    [
      'another cluster answers at its end',
      (state: FakeState) => {
        state.clusterId = 'cluster-b'
        withConfigs({ 'retention.ms': '2' })(state)
      },
      /committed offsets, topic settings could not be read once more; .* holds cluster cluster-a, but .* lead to cluster-b$/,
    ],
  ] as const) {
    test(`keeps the committed offsets of its records where ${what}, and warns`, async () => {
      const { carried, offset, settings, warnings } = await atEnd(change)
      assert.deepEqual([carried, offset, settings?.['retention.ms']], [['consumer_groups'], 10n, '1'])
      assert.equal(warnings.length, 1, `${warnings}`)
      assert.match(warnings[0] ?? '', reason)
    })
  }

  test('whose groups cannot be read at its end keeps what it has read, and warns', async () => {
    const { carried, hasOldSettings, offset, warnings } = await atEnd(() => undefined, 1)
    assert.deepEqual([carried, hasOldSettings, offset], [['consumer_groups'], false, 10n])
    assert.equal(warnings.length, 1)
    assert.match(warnings[0] ?? '', /^the run ends, and committed offsets could not be read once more; .* is down$/)
  })

  for (const [what, code, change] of [
    [
      'the source has lost records',
      'SOURCE_TRUNCATED',
      (state: FakeState) => {
        state.topics = [fakeTopic('orders', [runs(0, 1)])]
      },
    ],
    [
      'another cluster answers',
      'CONFIG_INVALID',
      (state: FakeState) => {
        state.clusterId = 'cluster-b'
        state.topics = [fakeTopic('other', [runs(0, 1)], { id: 'e'.repeat(32) })]
      },
    ],
  ] as const) {
    for (const beginsLog of [false, true]) {
      test(`that ends because ${what} reads nothing more into the backup${beginsLog ? ', as version 2' : ''}`, async () => {
        const storage = openMemoryStorage()
        const registry = new ScriptedRegistry()
        registry.ids = [1, 2, 3]
        let accessReads = 0
        let groupReads = 0
        const { error } = await play({
          topics: orders(),
          storage,
          options: { pollIntervalMs: 6_000_000, beginsLog },
          readers: {
            readRegistry: registry.read,
            readGroups: async () => {
              groupReads++
              return groupsReading()
            },
            readAccess: async signal => {
              accessReads++
              return emptyAccess(signal)
            },
          },
          between: [
            grow,
            state => {
              registry.ids = [1]
              change(state)
            },
          ],
        })
        assert.equal((error as { code?: string }).code, code)
        assert.deepEqual([registry.reads, groupReads, accessReads], [1, 1, 1])
        const newest = await openBackup(storage, 'b1', never)
        assert.deepEqual(
          [newest.generation, newest.carried_sections],
          [2, ['schema_registry', 'consumer_groups', 'access']],
        )
        assert.ok(newest.topic_settings_at)
        const { ids, notice } = await idsAt(storage, newest)
        assert.deepEqual(ids, [1, 2, 3])
        assert.match(notice ?? '', /schemas that were registered since are missing/)
      })
    }
  }
})

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { hasCode } from '../../src/errors.ts'
import { Writer } from '../../src/kafka/wire/writer.ts'
import { deriveRestoreId, describeRequest } from '../../src/restore/plan.ts'
import { restoreGroup } from '../../src/restore/progress.ts'
import { RestoreRefusal } from '../../src/restore/refusal.ts'
import type { RestoreOptions } from '../../src/restore/restore-options.ts'
import { encodeRun } from '../fakes/batches.ts'
import { API } from '../fakes/fake-broker.ts'
import { fakeTopic } from '../fakes/fake-cluster.ts'
import { type FakeTarget, withFakeTarget } from './fake-target.ts'
import { plainOptions } from './plain-options.ts'

/** With the restore ID that the job has without `restore.restore_id`. */
function append(changes: Partial<RestoreOptions> = {}): Partial<RestoreOptions> & { restoreId: string } {
  const request = describeRequest(plainOptions(changes))
  const restoreId = deriveRestoreId({ backupId: 'b1', request }, 'cluster-b')
  return { existingTopics: 'append', ...changes, restoreId }
}

const first = append()
const changed = append({ offsetHeaders: true })

/** A target on which `orders` has three records of its own, and a restore has appended seven to each of its two partitions. */
function withAppended(work: (target: FakeTarget) => Promise<void>): Promise<void> {
  const source = fakeTopic('orders', [[encodeRun(0n, 7)], [encodeRun(0n, 7)]])
  return withFakeTarget([source], async target => {
    const own = [encodeRun(0n, 3, { producerId: 9n })]
    target.fake.state.topics.push(fakeTopic('orders', [own, own]))
    await target.restore(first)
    assert.equal(countOf(target), 20)
    await work(target)
  })
}

function countOf(target: FakeTarget): number {
  return [0, 1].flatMap(partition => target.log('orders', partition)).reduce((sum, [, count]) => sum + count, 0)
}

/** Changes what is stored of a restore, such as `d: 0`, which a killed run leaves; undefined removes a field. */
function renote(target: FakeTarget, { restoreId }: { restoreId: string }, change: object): void {
  for (const note of target.groups.get(restoreGroup(restoreId))?.values() ?? []) {
    note.metadata = JSON.stringify({ ...JSON.parse(note.metadata), ...change })
  }
}

async function refusalOf(run: Promise<unknown>): Promise<string> {
  const error = await run.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  assert.ok(hasCode(error, 'RESTORE_REFUSED'))
  return `${error.message} ${error.help}`
}

describe('a job that appends and was changed', () => {
  test('is refused with all partitions that have no leader', () =>
    withAppended(async target => {
      Object.assign(target.topic('orders')?.partitions[1] ?? {}, { leader: -1 })
      await assert.rejects(target.restore(changed), error => {
        assert.ok(error instanceof RestoreRefusal)
        assert.match(error.message, /^topic orders: partitions have no leader \(orders\/1\)/)
        // Brokers that restart must not end the run of a Job for good.
        assert.deepEqual([error.code, error.retryable], ['KAFKA_NOT_READY', true])
        return true
      })
    }))

  test('is another restore', () => {
    assert.notEqual(first.restoreId, changed.restoreId)
    assert.equal(append({ batchBytes: 1 }).restoreId, first.restoreId)
  })

  test('after its run was killed is refused before it writes, and completes the restore when the change is undone', () =>
    withAppended(async target => {
      renote(target, first, { d: 0 })
      const refusal = await refusalOf(target.restore(changed))
      assert.match(
        refusal,
        /^topic orders: restore (\w+) of this backup is not complete and may have written records to it \(orders\/0, orders\/1\)/,
      )
      assert.match(refusal, new RegExp(`undo the changes of the job to complete restore ${first.restoreId} first;`))
      assert.deepEqual([countOf(target), target.groups.has(restoreGroup(changed.restoreId))], [20, false])
      assert.equal((await target.restore(first)).wasComplete, false)
      assert.equal(countOf(target), 20)
    }))

  test('is refused also where only a part of the topics is complete', () =>
    withAppended(async target => {
      const note = target.groups.get(restoreGroup(first.restoreId))?.get('orders/1')
      assert.ok(note)
      note.metadata = JSON.stringify({ ...JSON.parse(note.metadata), d: 1 })
      assert.match(await refusalOf(target.restore(changed)), /is not complete/)
    }))

  test('appends after the progress of the unfinished restore was deleted, as the refusal advises', () =>
    withAppended(async target => {
      renote(target, first, { d: 0 })
      const refusal = await refusalOf(target.restore(changed))
      const group = / --delete --group (__kafka-backup\.restore\.\w+)/.exec(refusal)?.[1] ?? ''
      assert.equal(target.groups.delete(group), true)
      await target.restore(changed)
      assert.equal(countOf(target), 34)
    }))

  test('warns before it writes where the earlier restore is complete', () =>
    withAppended(async target => {
      const warnedAtWrite: number[] = []
      target.before = ({ key }) => {
        if (key === API.produce) warnedAtWrite.push(target.warned.length)
        return undefined
      }
      const { warnings } = await target.restore(changed)
      assert.ok(warnedAtWrite.length > 0 && warnedAtWrite.every(count => count === 1))
      assert.match(
        warnings.join(),
        /^topic orders: restore \w+ has already appended records of this backup to it; those that this job selects as well are appended a second time \(set another name/,
      )
      assert.equal(countOf(target), 34)
    }))

  test('is refused also where an earlier version stored the progress, without the backup', () =>
    withAppended(async target => {
      renote(target, first, { d: 0, b: undefined })
      assert.match(await refusalOf(target.restore(changed)), /of this or another backup is not complete/)
    }))

  const harmless: Record<string, { change?: (target: FakeTarget) => void; job?: ReturnType<typeof append> }> = {
    'the unfinished restore is one of another backup': {
      change: target => renote(target, first, { d: 0, b: 'b2' }),
    },
    'it writes to other topics': {
      change: target => renote(target, first, { d: 0 }),
      job: append({ topicMapping: new Map([['orders', 'orders-2']]) }),
    },
    'it writes to other partitions': {
      change: target => {
        renote(target, first, { d: 0 })
        target.groups.get(restoreGroup(first.restoreId))?.delete('orders/1')
      },
      job: append({ partitions: new Map([['orders', [1]]]) }),
    },
    'the topic was created again': {
      change: target => {
        renote(target, first, { d: 0 })
        target.fake.state.topics = [fakeTopic('orders', [[], []])]
      },
    },
    'a group only has a similar name': {
      change: target => {
        const notes = target.groups.get(restoreGroup(first.restoreId)) ?? new Map()
        renote(target, first, { d: 0 })
        target.groups.clear()
        target.groups.set('my__kafka-backup.restore.x', notes)
      },
    },
  }
  for (const [name, { change, job = changed }] of Object.entries(harmless)) {
    test(`writes without a warning where ${name}`, () =>
      withAppended(async target => {
        change?.(target)
        const { warnings, totals } = await target.restore(job)
        assert.deepEqual([warnings, totals.records > 0], [[], true])
      }))
  }

  test('warns where it may not list the progress of other restores', () =>
    withAppended(async target => {
      renote(target, first, { d: 0 })
      const denied = () =>
        new Writer()
          .int32(0)
          .int16(31)
          .array([], () => undefined)
          .noTags()
      target.before = ({ key }) => (key === API.listGroups ? denied() : undefined)
      const { warnings } = await target.restore(changed)
      assert.match(
        warnings.join(),
        /^consumer groups: progress of other restores cannot be read: .* \(grant Read on groups/,
      )
    }))

  test('asks for the progress of other restores only before it appends for the first time', () =>
    withAppended(async target => {
      let lists = 0
      target.before = ({ key }) => {
        if (key === API.listGroups) lists++
        return undefined
      }
      assert.equal((await target.restore(first)).wasComplete, true)
      await assert.rejects(target.restore({ ...changed, existingTopics: 'fail' }), error =>
        hasCode(error, 'RESTORE_REFUSED'),
      )
      assert.equal(lists, 0)
    }))
})

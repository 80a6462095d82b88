import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { sumAccess } from '../../src/access/access-plan.ts'
import { planQuotas } from '../../src/access/plan-access.ts'
import { planAcls } from '../../src/access/plan-acls.ts'
import { makeAcls, makeQuotas } from '../../src/access/run-access.ts'
import { tryQuotas } from '../../src/access/survey-access.ts'
import { KafkaBackupError } from '../../src/errors.ts'
import type { Acl } from '../../src/kafka/acls.ts'
import type { Quota } from '../../src/kafka/client-quotas.ts'
import type { Cluster } from '../../src/kafka/cluster.ts'
import { renamed, rule } from './rules.ts'

const never = new AbortController().signal
const refusal = new KafkaBackupError('KAFKA_REFUSED', 'no')
const deny = rule({ permission: 'DENY' })
const [limited, other] = [rule({ principal: 'User:*' }), rule({ resourceName: 'other' })]

/** What was sent, request by request, and the outcomes, with `isRefused` deciding. */
async function make(acls: Acl[], existing: Acl[], isRefused: (acl: Acl) => boolean) {
  const sent: Acl[][] = []
  const report = await makeAcls(
    planAcls(acls, existing, renamed()),
    async some => {
      sent.push(some)
      return some.map(acl => (isRefused(acl) ? refusal : undefined))
    },
    never,
  )
  return { sent, report, outcomes: report.items.map(({ decision }) => decision) }
}

describe('rules are made', () => {
  test('denials first, in a request of their own, and what is there is not sent', async () => {
    const { sent, outcomes } = await make([limited, other, deny], [other], () => false)
    assert.deepEqual(sent, [[deny], [limited]])
    assert.deepEqual(outcomes, ['created', 'created', 'kept'])
  })

  test('one that is refused does not stop the others', async () => {
    const { outcomes, report } = await make([limited, other], [], acl => acl === limited)
    assert.deepEqual(outcomes, ['failed', 'created'])
    assert.deepEqual(report.items[0]?.notes, ['no'])
    assert.deepEqual(sumAccess({ acls: report }), { created: 1, kept: 0, differs: 0, cannot: 0, failed: 1 })
  })

  test('but a denial that is refused holds back what it was to limit, and nothing else', async () => {
    const { sent, outcomes, report } = await make([limited, other, deny], [], acl => acl === deny)
    assert.deepEqual(sent, [[deny], [other]])
    assert.deepEqual(outcomes, ['failed', 'failed', 'created'])
    assert.deepEqual(report.items[1]?.notes, ['held back, as this one is missing: DENY User:a READ on topic orders'])
  })

  test('a request that fails as a whole is the failure of each rule; an interruption ends it', async () => {
    const fail = async () => {
      throw refusal
    }
    const { items } = await makeAcls(planAcls([other], [], renamed()), fail, never)
    assert.deepEqual(
      items.map(({ decision, notes }) => [decision, notes]),
      [['failed', ['no']]],
    )
    const aborted = AbortSignal.abort()
    await assert.rejects(makeAcls(planAcls([other], [], renamed()), fail, aborted), refusal)
  })
})

describe('quotas', () => {
  const quota = (name: string, value: number): Quota => ({
    entity: [{ type: 'user', name }],
    key: 'producer_byte_rate',
    value,
  })
  const plan = planQuotas([quota('a', 1), quota('b', 2), quota('c', 3)], [])

  test('that somebody has set while the data was restored stay', async () => {
    const sent: Quota[] = []
    const set = async (some: Quota[]) => {
      sent.push(...some)
      return some.map(() => undefined)
    }
    const list = async () => [quota('a', 10), quota('b', 2)]
    const { items } = await makeQuotas(plan, { list, set }, never)
    assert.deepEqual(
      items.map(({ decision }) => decision),
      ['differs', 'kept', 'created'],
    )
    assert.deepEqual(sent, [quota('c', 3)])
  })

  test('are not set blindly where the target does not tell any more what it has', async () => {
    const list = async () => {
      throw refusal
    }
    const { items } = await makeQuotas(plan, { list, set: () => assert.fail() }, never)
    assert.deepEqual(
      items.map(({ decision, notes }) => [decision, notes.join()]),
      [
        ['failed', 'no'],
        ['failed', 'no'],
        ['failed', 'no'],
      ],
    )
  })

  test('that cannot be tried at all are failures of the plan, and no end of it', async () => {
    const settling = async () => {
      throw new KafkaBackupError('KAFKA_UNSUPPORTED', 'the broker does not know AlterClientQuotas')
    }
    const cluster = { settling } as unknown as Cluster
    const { quotas } = await tryQuotas(cluster, { quotas: plan, findings: [] }, never)
    assert.deepEqual(
      quotas?.items.map(({ decision }) => decision),
      ['failed', 'failed', 'failed'],
    )
    assert.match(quotas?.items[0]?.notes.join() ?? '', /does not know/)
    await assert.rejects(tryQuotas(cluster, { quotas: plan, findings: [] }, AbortSignal.abort()))
  })
})

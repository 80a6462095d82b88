import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { sumAccess } from '../../src/access/access-plan.ts'
import { planAcls } from '../../src/access/plan-acls.ts'
import { makeAcls } from '../../src/access/run-access.ts'
import { KafkaBackupError } from '../../src/errors.ts'
import type { Acl } from '../../src/kafka/acls.ts'
import { rule } from './rules.ts'

const never = new AbortController().signal
const refusal = new KafkaBackupError('KAFKA_REFUSED', 'no')
const deny = rule({ permission: 'DENY' })
const [limited, other] = [rule({ principal: 'User:*' }), rule({ resourceName: 'other' })]

/** What was sent, request by request, and the outcomes, with `isRefused` deciding. */
async function make(acls: Acl[], existing: Acl[], isRefused: (acl: Acl) => boolean) {
  const sent: Acl[][] = []
  const report = await makeAcls(
    planAcls(acls, existing, new Map()),
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
    const { items } = await makeAcls(planAcls([other], [], new Map()), fail, never)
    assert.deepEqual(
      items.map(({ decision, notes }) => [decision, notes]),
      [['failed', ['no']]],
    )
    const aborted = AbortSignal.abort()
    await assert.rejects(makeAcls(planAcls([other], [], new Map()), fail, aborted), refusal)
  })
})

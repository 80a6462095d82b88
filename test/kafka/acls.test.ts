import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAcls } from '../../src/kafka/acls.ts'
import type { WireAcl } from '../../src/kafka/api/acls.ts'
import type { Cluster } from '../../src/kafka/cluster.ts'
import { rule } from '../access/rules.ts'

const never = new AbortController().signal

/** A broker drops the connection at a request with a kind of number 0, so that one such rule would be the end of all. */
test('a rule in words that nobody here knows is not sent, and does not stop the others', async () => {
  const sent: WireAcl[] = []
  const call = async (_: unknown, { acls }: { acls: WireAcl[] }) => {
    sent.push(...acls)
    return { throttleMs: 0, results: acls.map(() => ({ errorCode: 0, errorMessage: null })) }
  }
  const cluster = {
    settling: (work: () => Promise<unknown>) => work(),
    metadata: async () => ({ controllerId: 1 }),
    link: async () => ({ speaks: () => true, call }),
  } as unknown as Cluster
  const rules = [
    rule({}),
    rule({ resourceType: 'SHARE' }),
    rule({ operation: 'CODE_0' }),
    rule({ resourceType: 'CODE_9' }),
    rule({ permission: 'MAYBE' }),
    rule({ operation: 'CODE_300' }),
  ]
  const outcomes = await createAcls(cluster, rules, never)
  assert.deepEqual(
    sent.map(({ resourceType }) => resourceType),
    [2, 9],
  )
  assert.deepEqual(
    outcomes.map(error => error?.message),
    [
      undefined,
      'this version of kafka-backup does not know SHARE',
      'this version of kafka-backup does not know CODE_0',
      undefined,
      'this version of kafka-backup does not know MAYBE',
      'this version of kafka-backup does not know CODE_300',
    ],
  )
})

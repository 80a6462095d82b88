import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { AccessPlan } from '../../src/access/access-plan.ts'
import { describeAcl } from '../../src/access/model.ts'
import { type AccessOptions, commandFor, type ExistingAccess, planAccess } from '../../src/access/plan-access.ts'
import { isLimitedBy } from '../../src/access/plan-acls.ts'
import type { AccessFile, AccessSection } from '../../src/archive/access-section.ts'
import { KafkaBackupError } from '../../src/errors.ts'
import type { Acl } from '../../src/kafka/acls.ts'
import { describeFinding } from '../../src/observe/finding.ts'
import { renamed, rule, stored } from './rules.ts'

const section = (changes: Partial<AccessSection> = {}): AccessSection => ({
  taken_at: 't',
  key: 'k',
  size: 1,
  blake3: '0'.repeat(64),
  acls: { state: 'taken', count: 1 },
  quotas: { state: 'taken', count: 1 },
  users: { state: 'taken', count: 1 },
  ...changes,
})

const nothing: ExistingAccess = { acls: [], quotas: [], users: [], granted: new Set(['Alter', 'AlterConfigs']) }

function plan(
  file: Partial<AccessFile>,
  existing: Partial<ExistingAccess> = {},
  options: Partial<AccessOptions> = {},
): AccessPlan {
  const head = { format: 'kafka-backup-access', format_version: 1 } as const
  const whole: AccessFile = { ...head, acls: [], quotas: [], users: [], ...file }
  const request = { acls: true, quotas: true, users: true, names: renamed(), ...options }
  return planAccess(request, { generation: 3, section: section(), file: whole }, { ...nothing, ...existing })
}

const decisions = (kind: { items: { decision: string }[] } | undefined) => kind?.items.map(({ decision }) => decision)

describe('the plan of access rules', () => {
  const cases: Record<string, { backed: Partial<Acl>; there?: Partial<Acl>; expected: string }> = {
    'a rule that the target lacks is created': { backed: {}, expected: 'create' },
    'one that is there is kept': { backed: {}, there: {}, expected: 'kept' },
    'another host is another rule': { backed: {}, there: { host: '10.0.0.1' }, expected: 'create' },
    'and so is another operation': { backed: {}, there: { operation: 'WRITE' }, expected: 'create' },
    'and the other permission': { backed: {}, there: { permission: 'DENY' }, expected: 'create' },
    'and a prefix of the same name': { backed: {}, there: { patternType: 'PREFIXED' }, expected: 'create' },
    'a kind that nobody here knows is tried': { backed: { resourceType: 'CODE_9' }, expected: 'create' },
  }
  for (const [name, { backed, there, expected }] of Object.entries(cases)) {
    test(name, () => {
      const { acls } = plan({ acls: [stored(backed)] }, { acls: there ? [rule(there)] : [] })
      assert.deepEqual(decisions(acls), [expected])
    })
  }

  test('denials come before what they limit', () => {
    const { acls } = plan({ acls: [stored({}), stored({ permission: 'DENY' }), stored({ principal: 'User:b' })] })
    assert.deepEqual(
      acls?.items.map(({ item }) => item.permission),
      ['DENY', 'ALLOW', 'ALLOW'],
    )
  })

  test('a literal rule on a topic follows its new name; prefixes, other resources and other topics stay', () => {
    const { acls, findings } = plan(
      {
        acls: [
          stored({}),
          stored({ resourceName: 'or', patternType: 'PREFIXED' }),
          stored({ resourceName: 'x', patternType: 'PREFIXED' }),
          stored({ resourceType: 'GROUP' }),
          stored({ resourceName: '*' }),
          stored({ resourceName: 'restored' }),
        ],
      },
      {},
      { names: renamed(['orders>restored']) },
    )
    assert.deepEqual(
      acls?.items.map(({ item, notes }) => [item.resourceName, notes.join()]),
      [
        ['restored', 'for topic orders of the backup'],
        ['or', 'the prefix is kept: it covered orders, and does not cover restored'],
        ['x', ''],
        ['orders', ''],
        ['*', ''],
      ],
      'the rule on a topic that had the new name already is the same one',
    )
    assert.deepEqual(findings.map(describeFinding), [
      'ACLs: rules on prefixes and on groups keep their names: ALLOW User:a READ on topics with the prefix or covered ' +
        'orders, and does not cover restored (create rules for the new names on the target)',
    ])
  })

  test('a rule follows a topic that is renamed and not restored by this job', () => {
    const names = renamed(['audit>audit'], { topicMapping: new Map([['orders', 'restored']]) })
    const { acls, findings } = plan({ acls: [stored({})] }, {}, { names })
    assert.deepEqual([acls?.items.map(({ item }) => item.resourceName), findings], [['restored'], []])
  })

  describe('of a topic whose older incarnation is restored under another name', () => {
    const backed = [stored({}), stored({ principal: 'User:b', permission: 'DENY' })]
    const created = (...topics: string[]) => {
      const { acls, findings } = plan({ acls: backed }, {}, { names: renamed(topics) })
      const rules = acls?.items.map(({ item, decision }) => `${decision} ${describeAcl(item)}`)
      return { rules, findings: findings.map(describeFinding) }
    }

    test('creates its rules, denials too, for both names, and says so before anything is written', () => {
      const both = created('orders>orders', 'orders@1a2b3c4d>orders-old')
      assert.deepEqual(both.rules, [
        'create DENY User:b READ on topic orders',
        'create DENY User:b READ on topic orders-old',
        'create ALLOW User:a READ on topic orders',
        'create ALLOW User:a READ on topic orders-old',
      ])
      const notice = 'ACLs: topic orders-old (orders@1a2b3c4d) gets the rules that this generation has for orders'
      assert.deepEqual(both.findings, [notice])
      assert.deepEqual(
        created('orders@1a2b3c4d>orders-old'),
        both,
        'the latest keeps its name where it is not restored',
      )
    })

    test('creates them under the new names only where the latest has another name, too', () => {
      assert.deepEqual(created('orders>orders-2', 'orders@1a2b3c4d>orders-old').rules, [
        'create DENY User:b READ on topic orders-2',
        'create DENY User:b READ on topic orders-old',
        'create ALLOW User:a READ on topic orders-2',
        'create ALLOW User:a READ on topic orders-old',
      ])
    })
  })

  test('warns of rules that do not cover the new name of a consumer group', () => {
    const groupMapping = new Map([['billing', 'billing-2']])
    const group = (changes: Partial<Acl>) => stored({ resourceType: 'GROUP', resourceName: 'billing', ...changes })
    const backed = [group({}), group({ patternType: 'PREFIXED' }), group({ resourceName: '*' })]
    const { acls, findings } = plan({ acls: backed }, {}, { names: renamed([], { groupMapping }) })
    assert.deepEqual(
      acls?.items.map(({ notes }) => notes.join()),
      ['the name is kept: it covered billing, and does not cover billing-2', '', ''],
    )
    assert.deepEqual(findings.map(describeFinding), [
      'ACLs: rules on prefixes and on groups keep their names: ALLOW User:a READ on group billing covered billing, and does not ' +
        'cover billing-2 (create rules for the new names on the target)',
    ])
  })

  test('a rule of one topic opens no other that is restored under its name; denials and what is there stay', () => {
    const eve = { resourceName: 'restored', principal: 'User:eve' }
    const backed = [
      stored(eve),
      stored({ ...eve, permission: 'DENY', operation: 'WRITE' }),
      stored({ ...eve, principal: 'User:mallory' }),
      stored({ resourceName: 'restored' }),
      stored({}),
      stored({ ...eve, resourceName: 'other' }),
      stored({ ...eve, resourceType: 'GROUP' }),
    ]
    const { acls, findings } = plan(
      { acls: backed },
      { acls: [rule({ ...eve, principal: 'User:mallory' })] },
      { names: renamed(['orders>restored', 'other>other']) },
    )
    assert.deepEqual(
      acls?.items.map(({ item, decision }) => `${decision} ${describeAcl(item)}`),
      [
        'create DENY User:eve WRITE on topic restored',
        'cannot ALLOW User:eve READ on topic restored',
        'kept ALLOW User:mallory READ on topic restored',
        'create ALLOW User:a READ on topic restored',
        'create ALLOW User:eve READ on topic other',
        'create ALLOW User:eve READ on group restored',
      ],
    )
    assert.match(acls?.items[1]?.notes.join() ?? '', /topic restored of the target is topic orders of the backup/)
    assert.deepEqual(findings.map(describeFinding), [
      'ACLs: 1 not created, because another topic gets the name: ALLOW User:eve READ on topic restored',
    ])
  })

  test('what would be open to everybody is a warning, unless it is so already, or denied', () => {
    const everybody = { principal: 'User:*' }
    const { findings } = plan({ acls: [stored(everybody), stored({ ...everybody, permission: 'DENY' })] })
    assert.deepEqual(
      findings.map(({ severity, problem }) => [severity, problem]),
      [['warning', '1 would allow something to everybody: ALLOW User:* READ on topic orders']],
    )
    assert.deepEqual(plan({ acls: [stored(everybody)] }, { acls: [rule(everybody)] }).findings, [])
  })

  test('a quota is set, kept, or left at the value of the target; entities are the same in any order', () => {
    const pair = [
      { type: 'client-id', name: 'app' },
      { type: 'user', name: null },
    ]
    const { quotas } = plan(
      {
        quotas: [
          { entity: pair, key: 'a', value: '1' },
          { entity: pair, key: 'b', value: '9007199254740993' },
          { entity: pair, key: 'c', value: '2.5' },
        ],
      },
      {
        quotas: [
          { entity: pair.toReversed(), key: 'b', value: 9007199254740992 },
          { entity: pair, key: 'c', value: 3 },
          { entity: [{ type: 'user', name: null }], key: 'a', value: 1 },
        ],
      },
    )
    assert.deepEqual(decisions(quotas), ['create', 'kept', 'differs'])
    assert.deepEqual(quotas?.items[2]?.notes, ['the target has 3, which stays'])
  })

  test('users that the target lacks cannot be made, and get a command; others are kept or differ', () => {
    const user = (name: string, iterations = 4096) => ({ user: name, mechanism: 'SCRAM-SHA-512', iterations })
    const { users, findings } = plan(
      { users: [user('a'), user('b'), user('c')] },
      { users: [user('b'), user('c', 8192), { ...user('a'), mechanism: 'SCRAM-SHA-256' }] },
    )
    assert.deepEqual(decisions(users), ['cannot', 'kept', 'differs'])
    assert.match(findings[0]?.problem ?? '', /the target lacks a \(SCRAM-SHA-512\)/)
    assert.equal(
      commandFor(user("o'x")),
      "kafka-configs.sh --bootstrap-server <target> --alter --entity-type users --entity-name 'o'\\''x' " +
        "--add-config 'SCRAM-SHA-512=[iterations=4096,password=<password>]'",
    )
  })

  test('only what is asked for is planned', () => {
    const { acls, quotas, users } = plan({ acls: [stored({})] }, {}, { acls: false, users: false })
    assert.deepEqual([acls, quotas, users], [undefined, { items: [] }, undefined])
  })

  test('a generation without them is refused, each kind with its reason', () => {
    const request = { acls: true, quotas: true, users: false, names: renamed() }
    const off = section({ acls: { state: 'failed', error: 'denied' }, quotas: { state: 'off' } })
    for (const [said, reasons] of [
      [off, ['they could not be read: denied', 'backup.quotas was off']],
      [undefined, ['backup.acls was off', 'backup.quotas was off']],
    ] as const) {
      const { findings } = planAccess(request, { generation: 3, section: said, file: undefined }, nothing)
      assert.deepEqual(
        findings.map(({ severity, problem }) => [severity, problem]),
        reasons.map(reason => ['error', `generation 3 of the backup has none: ${reason}`]),
      )
    }
  })

  test('rules that are damaged in the backup are told with all else that stands in the way', () => {
    const request = { acls: true, quotas: false, users: false, names: renamed() }
    const file = new KafkaBackupError('ARCHIVE_DAMAGED', 'b/access-3.x.json is missing')
    const { findings, acls } = planAccess(request, { generation: 3, section: section(), file }, nothing)
    assert.equal(acls, undefined)
    assert.deepEqual(
      findings.map(({ severity, problem }) => [severity, problem]),
      [['error', 'b/access-3.x.json is missing']],
    )
  })

  test('a target without an authorizer can have none; one that does not tell what it has gets none', () => {
    const without = new KafkaBackupError('KAFKA_NO_AUTHORIZER', 'none')
    const denied = new KafkaBackupError('KAFKA_DENIED', 'listing: denied')
    const first = plan({ acls: [stored({})] }, { acls: without })
    assert.deepEqual(decisions(first.acls), ['cannot'])
    assert.match(first.findings[0]?.problem ?? '', /no authorizer/)
    const second = plan({ acls: [stored({})] }, { acls: denied })
    assert.deepEqual(decisions(second.acls), ['failed'])
    const [finding] = second.findings
    assert.deepEqual([finding?.code, finding?.remedy], ['KAFKA_DENIED', 'grant Describe on the cluster'])
  })

  test('a permission that is missing is told where something is to be made, and does not refuse the restore', () => {
    const quota = { entity: [{ type: 'user', name: 'a' }], key: 'k', value: '1' }
    const { findings } = plan({ acls: [stored({})], quotas: [quota] }, { granted: new Set() })
    assert.deepEqual(
      findings.map(({ severity, code, remedy }) => [severity, code, remedy]),
      [
        ['warning', 'KAFKA_DENIED', 'grant Alter on the cluster'],
        ['warning', 'KAFKA_DENIED', 'grant AlterConfigs on the cluster'],
      ],
    )
    assert.deepEqual(plan({ acls: [stored({})] }, { acls: [rule({})], granted: new Set() }).findings, [])
    assert.deepEqual(plan({ acls: [stored({})] }, { granted: undefined }).findings, [], 'the broker does not tell')
  })
})

describe('a denial limits', () => {
  const limits: [string, Partial<Acl>, Partial<Acl>, boolean][] = [
    ['the same resource of the same principal', {}, {}, true],
    ['whatever the operation', { operation: 'WRITE' }, { operation: 'READ' }, true],
    ['nobody else', { principal: 'User:b' }, {}, false],
    ['everybody', { principal: 'User:b' }, { principal: 'User:*' }, true],
    ['one of all', { principal: 'User:*' }, {}, true],
    ['no other topic', { resourceName: 'x' }, {}, false],
    ['no other kind', { resourceType: 'GROUP' }, {}, false],
    ['a part of a prefix', { resourceName: 'ord', patternType: 'PREFIXED' }, {}, true],
    ['what its prefix covers', {}, { resourceName: 'ord', patternType: 'PREFIXED' }, true],
    [
      'a longer prefix',
      { resourceName: 'orders-', patternType: 'PREFIXED' },
      { resourceName: 'o', patternType: 'PREFIXED' },
      true,
    ],
    ['one of every topic', { resourceName: '*' }, {}, true],
  ]
  for (const [name, allow, deny, expected] of limits) {
    test(name, () => assert.equal(isLimitedBy(rule(allow), rule({ ...deny, permission: 'DENY' })), expected))
  }
})

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { applyOverrides } from '../../src/config/override.ts'
import { errorsOf, minimalJob, minimalRestore, parse, parseRestore } from './job-texts.ts'

const tree = { a: { b: 'x', list: ['p', 'q'] }, n: null }

describe('--set', () => {
  const changes: Record<string, [settings: string[], expected: unknown]> = {
    'replaces a value': [['a.b=y'], { ...tree, a: { b: 'y', list: ['p', 'q'] } }],
    'adds maps on its way': [['c.d.e=y'], { ...tree, c: { d: { e: 'y' } } }],
    'fills a map that has no value': [['n.x=y'], { ...tree, n: { x: 'y' } }],
    'replaces an item of a list': [['a.list.1=z'], { ...tree, a: { b: 'x', list: ['p', 'z'] } }],
    'appends to a list at the index after its last': [
      ['a.list.2=z'],
      { ...tree, a: { b: 'x', list: ['p', 'q', 'z'] } },
    ],
    'begins a list with index 0': [['c.0=z', 'c.1=y'], { ...tree, c: ['z', 'y'] }],
    'takes a list': [['a=[1, "2", x y]'], { ...tree, a: ['1', '2', 'x y'] }],
    'takes a map, whose keys may have dots': [['a={k.1: v}'], { ...tree, a: { 'k.1': 'v' } }],
    'keeps scalars as they are written': [['a=007', 'n=True'], { a: '007', n: 'True' }],
    'keeps an equals sign in the value': [['a=b=c'], { ...tree, a: 'b=c' }],
    'takes the quotes off': [['a="x: y"'], { ...tree, a: 'x: y' }],
    'lets the last one win': [['a=1', 'a=2'], { ...tree, a: '2' }],
  }
  for (const [name, [settings, expected]] of Object.entries(changes)) {
    test(name, () => {
      const before = structuredClone(tree)
      const result = applyOverrides(tree, settings)
      assert.deepEqual(result.tree, expected)
      assert.deepEqual(result.problems, [])
      assert.deepEqual(tree, before, 'the tree handed in is unchanged')
    })
  }

  const refusals: Record<string, [setting: string, expected: RegExp]> = {
    'names the single value it would have to walk through': [
      'storage.path.x=1',
      /^storage\.path\.x: storage\.path is a single value, so nothing can be set below it \[--set\]$/,
    ],
    'names the list whose end it is beyond': [
      'source.bootstrap_servers.2=a:1',
      /^source\.bootstrap_servers\.2: source\.bootstrap_servers is a list of 1; after it comes an index from 0 to 1 \[--set\]$/,
    ],
    'needs an index in a list': [
      'source.bootstrap_servers.x=a:1',
      /is a list of 1; after it comes an index from 0 to 1/,
    ],
    'needs an equals sign': ['backup_id', /^--set \(argument 1\): needs the form path=value/],
    'has no key with other characters in its path': [
      'restore.offset_ranges.orders/0.end=5',
      /^--set \(argument 1\): has another character than .* set the map instead/,
    ],
    'needs a path': ['=x', /^--set \(argument 1\): needs the form path=value/],
    'needs a name between dots': ['a..b=x', /^--set \(argument 1\): needs the form path=value/],
    'does not reach into what all objects share': ['__proto__.x=1', /^--set \(argument 1\): needs the form path=value/],
    'refuses a value that is not YAML': ['backup_id=[a', /^backup_id: the value is not valid YAML: .* \[--set\]$/],
    'is checked like the file, and named as the origin': [
      'backup.compresion=none',
      /^backup\.compresion: is not a known key; allowed: compression, .* \(did you mean `compression`\?\) \[--set\]$/,
    ],
  }
  for (const [name, [setting, expected]] of Object.entries(refusals)) {
    test(name, () => {
      const errors = errorsOf(minimalJob, { set: [setting] })
      assert.equal(errors.length, 1, errors.join('\n'))
      assert.match(errors[0] ?? '', expected)
    })
  }

  test('comes before variables', () => {
    assert.equal(parse(minimalJob, { set: [`backup_id=\${ID}`], env: { ID: '2024' } }).backupId, '2024')
  })

  test('can make a job of an empty file', () => {
    const set = ['mode=backup', 'backup_id=7', 'source.bootstrap_servers.0=a:1', 'source.topics.include=[a]']
    const job = parse('', { set: [...set, 'storage={backend: filesystem, path: /b}'] })
    assert.equal(job.backupId, '7')
  })

  test('takes a single value for a list of one, in every field that is a list', () => {
    const backup = parse(minimalJob, {
      set: [
        'source.topics.include=orders',
        `source.topics.exclude=\${X}`,
        'retention={keep_last: 1}',
        'retention.match=a-*',
      ],
      env: { X: 'x' },
    })
    assert.deepEqual(backup.source.topics, { include: ['orders'], exclude: ['x'] })
    assert.deepEqual(backup.retention?.match, ['a-*'])
    const set = ['restore.topics.include=orders', 'restore.partitions.orders=3']
    const { restore } = parseRestore(minimalRestore, { set })
    assert.deepEqual(restore.topics.include, ['orders'])
    assert.deepEqual([...restore.partitions], [['orders', [3]]])
  })

  test('leaves a single value in the file as an error', () => {
    const errors = errorsOf(minimalJob.replace(/include: .*/, 'include: orders'))
    assert.match(errors.join(), /source\.topics\.include: "orders" is not a list/)
  })
})

import assert from 'node:assert/strict'
import { rm, unlink, writeFile } from 'node:fs/promises'
import { describe, test } from 'node:test'
import { carryKeys } from '../../src/encryption/carry-keys.ts'
import { withEncryption } from '../../src/encryption/encrypted-storage.ts'
import { rewrapKeys } from '../../src/encryption/rewrap.ts'
import { hasCode, KafkaBackupError } from '../../src/errors.ts'
import { systemClock } from '../../src/lib/clock.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { keyOf, ownKeys } from '../encryption/samples.ts'
import { withFaults } from '../fakes/faulty-storage.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { type CopyStage, never, withCopyStage } from './copies-of-keys.ts'

const isCode = (code: Parameters<typeof hasCode>[1], message: RegExp) => (error: unknown) =>
  hasCode(error, code) && message.test(error.message)

const isData = (key: string) => !/\/(keys|leases)\//.test(key)

/** Each object, and whether it is encrypted. */
async function sealed(stage: CopyStage, name: string): Promise<boolean[]> {
  const bodies = [...(await stage.files(name))].filter(([key]) => isData(key)).map(([, body]) => body)
  assert.ok(bodies.length > 0)
  return [...new Set(bodies.map(body => body.subarray(1, 6).toString() === 'KBENC'))]
}

const dataIds = async (stage: CopyStage, name: string) => (await stage.keys(name)).dataKeys.map(({ id }) => id)
const from = (stage: CopyStage, ...keys: string[]) => ({
  ...stage.place('here'),
  keyFiles: keys.map(key => stage.path(key)),
})

describe('a copy of an encrypted backup', () => {
  test('has the keys of the original, and brings what is new', () =>
    withCopyStage(async stage => {
      const manifests = await stage.store(['a', 'b'], 2, { hideNames: true })
      const places = { from: from(stage, 'a'), to: stage.place('there') }
      assert.deepEqual((await stage.copy(places)).generations, [1, 2])
      const [here, there] = [await stage.files('here'), await stage.files('there')]
      assert.deepEqual([...there.keys()], [...here.keys()])
      assert.deepEqual(there.get('b1/keys/00000001.json'), here.get('b1/keys/00000001.json'))
      assert.deepEqual(await sealed(stage, 'there'), [true])
      for (const key of ['a', 'b']) await stage.assertDeep('there', [key])
      const after = manifests[1]
      await stage.store(['a'], 1, { hideNames: true, ...(after && { after }) })
      assert.deepEqual((await stage.copy(places, { verifyExisting: true })).generations, [3])
      assert.deepEqual((await stage.copy(places)).objects, 0)
      await stage.assertDeep('there', ['b'])
    }))

  test('with keys of its own opens with those alone', () =>
    withCopyStage(async stage => {
      for (const hideNames of [false, true]) {
        await Promise.all(['here', 'there'].map(name => rm(stage.path(name), { recursive: true, force: true })))
        await stage.store(['a'], 2, { hideNames })
        const keyFiles = [stage.path('a')]
        const places = { from: from(stage, 'a'), to: { ...stage.place('there', ['b']), keyFiles } }
        assert.deepEqual((await stage.copy(places)).generations, [1, 2])
        await stage.assertDeep('there', ['b'])
        await assert.rejects(
          stage.assertDeep('there', ['a']),
          isCode('ENCRYPTION_KEY', /none of these matches: the key/),
        )
        const { recipients, hideNames: isHidden } = await stage.keys('there')
        assert.deepEqual([recipients.length, isHidden], [1, hideNames])
        assert.notDeepEqual(await dataIds(stage, 'there'), await dataIds(stage, 'here'))
        assert.deepEqual((await stage.copy(places, { verifyExisting: true })).objects, 0)
      }
    }))

  test('takes a key that both sides have, given in both ways', () =>
    withCopyStage(async stage => {
      await stage.store(['a'])
      const keyFiles = [stage.path('a')]
      await stage.copy({ from: from(stage, 'a'), to: { ...stage.place('there', ['a']), keyFiles } })
      await stage.assertDeep('there', ['a'])
    }))

  test('that is not to be encrypted needs no key, and is gone on with so', () =>
    withCopyStage(async stage => {
      const manifests = await stage.store(['a'], 2, { hideNames: true })
      const places = { from: from(stage, 'a'), to: stage.place('there'), decrypt: true }
      assert.deepEqual((await stage.copy(places)).generations, [1, 2])
      assert.deepEqual(await sealed(stage, 'there'), [false])
      await stage.assertDeep('there', [])
      const after = manifests[1]
      await stage.store(['a'], 1, { hideNames: true, ...(after && { after }) })
      assert.deepEqual((await stage.copy(places)).generations, [3])
      await stage.assertDeep('there', [])
      // And back into one that is encrypted.
      const back = { from: stage.place('there'), to: stage.place('else', ['c']) }
      assert.deepEqual((await stage.copy(back)).generations, [1, 2, 3])
      await stage.assertDeep('else', ['c'])
    }))

  test('follows a change of recipients, and has several data keys where the original has', () =>
    withCopyStage(async stage => {
      const manifests = await stage.store(['a'])
      await stage.copy({ from: from(stage, 'a'), to: stage.place('there') })
      await stage.rewrap('here', 'a', 'b', true)
      const after = manifests[1]
      await stage.store(['b'], 1, { ...(after && { after }) })
      const places = { from: from(stage, 'b'), to: stage.place('there') }
      assert.deepEqual((await stage.copy(places)).generations, [3])
      assert.equal((await dataIds(stage, 'there')).length, 2)
      assert.deepEqual(await dataIds(stage, 'there'), await dataIds(stage, 'here'))
      await stage.assertDeep('there', ['b'])
      await assert.rejects(stage.assertDeep('there', ['a']), isCode('ENCRYPTION_KEY', /none of these/))
      assert.deepEqual(
        [...(await stage.files('there')).keys()].filter(key => key.includes('/keys/')),
        ['b1/keys/00000002.json'],
      )
      await stage.copy({ from: from(stage, 'b'), to: stage.place('else', ['c']) })
      await stage.assertDeep('else', ['c'])
      assert.equal((await dataIds(stage, 'else')).length, 1)
    }))

  test('that died between the new keys and the old ones takes the old ones away the next time', () =>
    withCopyStage(async stage => {
      await stage.store(['a'])
      const places = { from: from(stage, 'b'), to: stage.place('there') }
      await stage.copy({ ...places, from: from(stage, 'a') })
      const old = (await stage.files('there')).get('b1/keys/00000001.json') ?? assert.fail()
      await stage.rewrap('here', 'a', 'b')
      await stage.copy(places)
      await writeFile(stage.path('there/b1/keys/00000001.json'), old)
      await stage.copy(places)
      assert.ok(!(await stage.files('there')).has('b1/keys/00000001.json'))
    }))

  test('goes on where the store keeps the keys of former recipients, and says so', async () => {
    const [source, target] = [openMemoryStorage(), openMemoryStorage()]
    await withEncryption(source, ownKeys([keyOf(1)])).keysFor('b1', never)
    assert.equal(await carryKeys({ source, target }, 'b1', never), undefined)
    const request = { backupId: 'b1', recipients: [keyOf(2)], present: [keyOf(1)], isDataKeyNew: false }
    await rewrapKeys(source, request, systemClock, never)
    const error = () => new KafkaBackupError('STORAGE_DENIED', 'not you')
    const kept = withFaults(target, [{ on: 'remove', effect: { kind: 'throw-before', error } }])
    const told = /b1\/keys\/ .* older than b1\/keys\/00000002\.json cannot be removed, .* former recipients/
    for (let round = 0; round < 2; round++) {
      assert.match((await carryKeys({ source, target: kept }, 'b1', never)) ?? '', told)
    }
    assert.equal(await carryKeys({ source, target }, 'b1', never), undefined)
    assert.deepEqual([...target.objects.keys()], ['b1/keys/00000002.json'])
  })

  test('that died between its keys and its data goes on', () =>
    withCopyStage(async stage => {
      await stage.store(['a'])
      for (const [name, to] of [
        ['there', stage.place('there')],
        ['else', stage.place('else', ['b'])],
      ] as const) {
        const places = { from: from(stage, 'a'), to }
        await stage.copy(places)
        const files = [...(await stage.files(name)).keys()]
        await Promise.all(files.filter(isData).map(key => unlink(stage.path(`${name}/${key}`))))
        assert.deepEqual((await stage.copy(places)).generations, [1, 2])
        await stage.assertDeep(name, name === 'there' ? ['a'] : ['b'])
      }
    }))

  test('of a backup without encryption is encrypted as the target says', () =>
    withCopyStage(async stage => {
      await stage.store([])
      const places = { from: stage.place('here'), to: stage.place('there', ['b']) }
      await stage.copy(places)
      assert.deepEqual(await sealed(stage, 'there'), [true])
      await stage.assertDeep('there', ['b'])
      assert.equal((await stage.copy(places)).objects, 0)
    }))

  test('leaves no lease on either side', () =>
    withCopyStage(async stage => {
      await stage.store(['a'])
      await stage.copy({ from: from(stage, 'a'), to: stage.place('there') })
      for (const name of ['here', 'there']) {
        assert.ok(![...(await stage.files(name)).keys()].some(key => key.includes('/leases/')))
      }
    }))
})

describe('what a copy refuses, it refuses before it writes, and when it is only tried out', () => {
  const refused: {
    name: string
    /** Keys of the source, and of what the target holds. */
    here: string[]
    there?: string[]
    given?: string[]
    to?: [string[], boolean?]
    decrypt?: boolean
    backupId?: string
    code: Parameters<typeof hasCode>[1]
    message: RegExp
  }[] = [
    {
      name: 'an encrypted backup beside one that is not',
      here: ['a'],
      there: [],
      code: 'ENCRYPTION_MISMATCH',
      message: /is not encrypted, and the source is/,
    },
    {
      name: 'an encrypted backup beside one with other keys',
      here: ['a'],
      there: ['b'],
      code: 'ENCRYPTION_MISMATCH',
      message: /is encrypted with other keys than the source/,
    },
    {
      name: 'a backup without encryption beside one with, whatever key is given',
      here: [],
      there: ['b'],
      given: [],
      code: 'ENCRYPTION_MISMATCH',
      message: /is encrypted, and the source is not/,
    },
    {
      name: 'to decrypt into an encrypted one',
      here: ['a'],
      there: ['b'],
      decrypt: true,
      code: 'ENCRYPTION_MISMATCH',
      message: /is encrypted already, and --decrypt/,
    },
    {
      name: 'to encrypt into one that is not',
      here: ['a'],
      there: [],
      to: [['b']],
      code: 'ENCRYPTION_MISMATCH',
      message: /is not encrypted/,
    },
    {
      name: 'to hide names that are in the keys of objects',
      here: ['a'],
      to: [['b'], true],
      code: 'ENCRYPTION_MISMATCH',
      message: /a copy does not rename objects/,
    },
    {
      name: 'a source that no key opens',
      here: ['a'],
      given: ['b'],
      code: 'ENCRYPTION_KEY',
      message: /is encrypted, and opens with key/,
    },
    {
      name: 'a source without any key',
      here: ['a'],
      given: [],
      code: 'ENCRYPTION_KEY',
      message: /no key was given/,
    },
    {
      name: 'a backup that is not there',
      here: ['a'],
      backupId: 'typo',
      to: [['b']],
      code: 'BACKUP_NOT_FOUND',
      message: /typo/,
    },
  ]
  for (const { name, here, there, given = ['a'], to, decrypt, backupId, code, message } of refused) {
    test(name, () =>
      withCopyStage(async stage => {
        await stage.store(here)
        if (there) await stage.store(there, 1, { at: 'there', run: 'other' })
        const [source, before] = [await stage.files('here'), await stage.files('there')]
        const keyFiles = given.map(key => stage.path(key))
        const target = { ...stage.place('there', to?.[0], to?.[1]), keyFiles }
        const places = { from: from(stage, ...given), to: target, decrypt }
        for (const dryRun of [true, false]) {
          await assert.rejects(stage.copy(places, { dryRun }, backupId), isCode(code, message))
          assert.deepEqual(await stage.files('there'), before)
          assert.deepEqual(await stage.files('here'), source)
        }
      }),
    )
  }

  test('and one that would do is tried out without a trace', () =>
    withCopyStage(async stage => {
      await stage.store(['a'])
      for (const [to, decrypt] of [
        [stage.place('there'), false],
        [stage.place('there'), true],
        [stage.place('there', ['b']), false],
      ] as const) {
        const report = await stage.copy({ from: from(stage, 'a'), to, decrypt }, { dryRun: true })
        assert.deepEqual(report.generations, [1, 2])
        assert.equal((await stage.files('there')).size, 0)
      }
    }))
})

test('a copy that fails at any call for the keys of its target is finished by the next one', () =>
  withCopyStage(async stage => {
    await stage.store(['a'], 1)
    await stage.copy({ from: from(stage, 'a'), to: stage.place('kept') })
    await stage.rewrap('here', 'a', 'b', true)
    const died = () => new Error('died')
    for (const to of [stage.place('kept'), stage.place('changed', ['c'])]) {
      const places = { from: from(stage, 'b'), to }
      for (const on of ['list', 'read', 'create', 'remove'] as const) {
        for (const kind of ['throw-before', 'throw-after'] as const) {
          if (on === 'list' && kind === 'throw-after') continue
          const fault = { on, key: /\/keys\//, nth: 1, effect: { kind, error: died } }
          const decorateStorage = (storage: Storage) =>
            storage.location.endsWith('/here') ? storage : withFaults(storage, [fault])
          await stage.copy(places, {}, 'b1', { decorateStorage }).catch(error => assert.match(String(error), /died/))
        }
      }
      assert.equal((await stage.copy(places)).ok, true)
      const name = to.encryption ? 'changed' : 'kept'
      await stage.assertDeep(name, [to.encryption ? 'c' : 'b'])
      assert.equal([...(await stage.files(name)).keys()].filter(key => key.includes('/keys/')).length, 1)
    }
  }))

test('a damaged manifest.json of an encrypted copy is replaced', () =>
  withCopyStage(async stage => {
    await stage.store(['a'])
    const places = { from: from(stage, 'a'), to: stage.place('there') }
    await stage.copy(places)
    for (const body of ['', '{}', 'x'.repeat(300)]) {
      await writeFile(stage.path('there/b1/manifest.json'), body)
      assert.equal((await stage.copy(places)).ok, true)
      assert.deepEqual(await sealed(stage, 'there'), [true])
    }
  }))

describe('damage of an encrypted source', () => {
  test('in a manifest that the target has is named, and the rest is copied', () =>
    withCopyStage(async stage => {
      const manifests = await stage.store(['a'])
      const places = { from: from(stage, 'a'), to: stage.place('there') }
      await stage.copy(places)
      const key = 'b1/manifests/00000002.json'
      const after = manifests[1]
      await stage.store(['a'], 1, { ...(after && { after }) })
      const body = Buffer.from((await stage.files('here')).get(key) ?? assert.fail())
      body[100] = (body[100] ?? 0) ^ 1
      await writeFile(stage.path(`here/${key}`), body)
      const report = await stage.copy(places)
      assert.deepEqual([report.ok, report.generations], [false, [3]])
      assert.deepEqual(
        report.problems.map(problem => problem.key),
        [key],
      )
      await stage.assertDeep('there', ['a'])
    }))

  test('in a segment keeps back the generations that name it', () =>
    withCopyStage(async stage => {
      await stage.store(['a'])
      const files = await stage.files('here')
      const key = [...files.keys()].find(one => /orders\/0\/0+3\.run2\.log$/.test(one)) ?? assert.fail()
      const body = Buffer.from(files.get(key) ?? assert.fail())
      body[70] = (body[70] ?? 0) ^ 1
      await writeFile(stage.path(`here/${key}`), body)
      const report = await stage.copy({ from: from(stage, 'a'), to: stage.place('there') })
      assert.deepEqual([report.ok, report.generations, report.problems.map(one => one.key)], [false, [1], [key]])
      await stage.assertDeep('there', ['a'])
    }))
})

test('of backups with and without encryption each stays what it is', () =>
  withCopyStage(async stage => {
    await stage.store(['a'])
    await stage.store([], 1, { backupId: 'b2' })
    await stage.store(['b'], 1, { backupId: 'b3' })
    const places = { from: from(stage, 'a', 'b'), to: stage.place('there') }
    for (const id of ['b1', 'b2', 'b3']) assert.equal((await stage.copy(places, {}, id)).ok, true)
    await stage.assertDeep('there', ['a'])
    await stage.assertDeep('there', [], false, 'b2')
    await stage.assertDeep('there', ['b'], true, 'b3')
  }))

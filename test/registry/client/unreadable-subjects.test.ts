import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { KafkaBackupError } from '../../../src/errors.ts'
import type { Vendor } from '../../fakes/fake-registry.ts'
import type { ScriptedAnswer, SeenRequest } from '../../fakes/http-script.ts'
import { row } from '../../fakes/registry-rows.ts'
import { brief, snapshotOf } from './snapshots.ts'

const notFound = { status: 404, json: { error_code: 40401, message: 'Subject not found' } }
const walked: Vendor[] = ['axonops', 'redpanda', 'apicurio']

const isLiveList = ({ path, query }: SeenRequest) => path.endsWith('/subjects') && query.get('deleted') !== 'true'
const isVersions = ({ path }: SeenRequest, subject: string) => path.endsWith(`/subjects/${subject}/versions`)

describe('a live subject that cannot be read', () => {
  for (const vendor of walked) {
    test(`fails the backup, as ${vendor} lists it`, async t => {
      const rows = [row('a', 1, 1), row('hidden', 1, 2)]
      const before = (request: SeenRequest) => (isVersions(request, 'hidden') ? notFound : undefined)
      await assert.rejects(snapshotOf(t, vendor, { rows, before }), (error: KafkaBackupError) => {
        assert.equal(error.code, 'REGISTRY_PROTOCOL')
        assert.match(error.message, /lists subject "hidden", but does not give it$/)
        assert.match(error.help, /backup\.exclude/)
        return true
      })
    })
  }

  test('fails a restore, with help that a restore can use', async t => {
    for (const name of ['hidden', 'a/b']) {
      const before = (request: SeenRequest) => (isVersions(request, 'hidden') ? notFound : undefined)
      const reading = { isContextNeeded: () => true }
      await assert.rejects(
        snapshotOf(t, 'axonops', { rows: [row(name, 1, 1)], before }, reading),
        (error: KafkaBackupError) => {
          assert.match(error.help, /has to know all that the target has.* or restore to another registry\.$/)
          return true
        },
      )
    }
  })

  test('is left out where the job says so', async t => {
    const rows = [row('a', 1, 1), row('hidden', 1, 2)]
    const before = (request: SeenRequest) => (isVersions(request, 'hidden') ? notFound : undefined)
    const { snapshot } = await snapshotOf(t, 'axonops', { rows, before }, { exclude: ['hidden'] })
    assert.deepEqual(brief(snapshot.versions), ['a@1#1'])
  })

  test('of AxonOps with a slash in its name is said to be out of reach for good', async t => {
    const rows = [row('google/protobuf/x.proto', 1, 1), row('a', 1, 2)]
    await assert.rejects(snapshotOf(t, 'axonops', { rows }), (error: KafkaBackupError) => {
      assert.match(error.message, /lists subject "google\/protobuf\/x\.proto", but cannot be asked for it: AxonOps/)
      assert.match(
        error.help,
        /under a name without a slash, or leave the subject out with `enterprise\.schema_registry\.backup\.exclude`/,
      )
      return true
    })
  })

  test('is no fault where it was deleted while the registry was read', async t => {
    const rows = [row('a', 1, 1), row('goes', 1, 2)]
    // It is gone when its versions are asked for, and not listed after that.
    const before = (request: SeenRequest, held: typeof rows) => {
      const at = held.findIndex(({ subject }) => subject === 'goes')
      if (isVersions(request, 'goes') && at >= 0) held.splice(at, 1)
      return undefined
    }
    const { snapshot } = await snapshotOf(t, 'axonops', { rows, before })
    assert.deepEqual(brief(snapshot.versions), ['a@1#1'])
  })

  test('is read where it was registered after its versions were asked for', async t => {
    const rows = [row('a', 1, 1)]
    let isNew = false
    const before = (request: SeenRequest, held: typeof rows): ScriptedAnswer | undefined => {
      if (request.path === '/subjects' && !isLiveList(request) && !isNew) return { json: ['a', 'comes'] }
      if (isLiveList(request) && !isNew && request.query.get('limit') !== '1') {
        isNew = true
        held.push(row('comes', 1, 2))
      }
      return undefined
    }
    const { snapshot } = await snapshotOf(t, 'axonops', { rows, before })
    assert.deepEqual(brief(snapshot.versions), ['a@1#1', 'comes@1#2'])
  })
})

test('a subject of which only settings are left is reported, and not taken for a fault', async t => {
  for (const vendor of ['karapace', 'axonops'] as const) {
    const { snapshot } = await snapshotOf(t, vendor, {
      rows: [row('a', 1, 1)],
      before: request =>
        request.path === '/subjects' && !isLiveList(request) ? { json: ['a', 'only-settings'] } : undefined,
    })
    assert.deepEqual(brief(snapshot.versions), ['a@1#1'])
    assert.match(snapshot.warnings.join(), /^subject "only-settings" is listed but shows no versions/)
  }
})

describe('null', () => {
  const lists: [string, (request: SeenRequest) => boolean][] = [
    ['subjects', ({ path }) => path === '/subjects'],
    ['schemas', ({ path }) => path === '/schemas'],
    ['contexts', ({ path }) => path === '/contexts'],
  ]
  for (const [name, isList] of lists) {
    test(`in place of the list of ${name} is an empty list`, async t => {
      const before = (request: SeenRequest) => (isList(request) ? { json: null } : undefined)
      const { snapshot } = await snapshotOf(t, 'confluent', { before })
      assert.deepEqual([snapshot.versions, snapshot.contexts, snapshot.warnings], [[], ['.'], []])
    })
  }

  test('in place of the last page ends a list, and the references and aliases of a row are none', async t => {
    const rows = [row('a', 1, 1), row('b', 1, 2)].map(one => ({ ...one, ...{ references: null, aliases: null } }))
    const before = ({ path, query }: SeenRequest) => {
      if (path !== '/schemas' && path !== '/subjects') return undefined
      return Number(query.get('offset') ?? 0) > 0 ? { json: null } : { json: path === '/schemas' ? rows : ['a', 'b'] }
    }
    const { snapshot } = await snapshotOf(t, 'confluent', { before })
    assert.deepEqual(brief(snapshot.versions), ['a@1#1', 'b@1#2'])
  })

  test('in place of the versions of a live subject is not an empty subject', async t => {
    const before = (request: SeenRequest) => (isVersions(request, 'a') ? { json: null } : undefined)
    await assert.rejects(
      snapshotOf(t, 'axonops', { rows: [row('a', 1, 1)], before }),
      /lists subject "a", but does not/,
    )
  })
})

describe('what is not a list', () => {
  test('is never taken for an empty registry: neither no body nor an object', async t => {
    for (const answer of [{ text: '' }, { json: {} }, { json: 'none' }]) {
      const before = ({ path }: SeenRequest) => (path === '/subjects' ? answer : undefined)
      await assert.rejects(snapshotOf(t, 'redpanda', { before }), /does not answer with a list of subjects/)
      const later = ({ path, query }: SeenRequest) =>
        path === '/subjects' && query.get('limit') !== '1' ? answer : undefined
      await assert.rejects(snapshotOf(t, 'redpanda', { before: later }), /does not answer \/subjects with a list/)
    }
  })

  test('is an error where it is in place of the versions of a subject', async t => {
    const before = (request: SeenRequest) => (isVersions(request, 'a') ? { json: { versions: [1] } } : undefined)
    const read = snapshotOf(t, 'redpanda', { rows: [row('a', 1, 1)], before })
    await assert.rejects(read, /does not answer with the versions of subject "a"/)
  })
})

test('settings that AxonOps shows for every context are not stored as set, and others are', async t => {
  const options = { contexts: ['.', '.eu', '.us'], rows: [row(':.eu:a', 1, 1), row(':.us:b', 1, 1)] }
  const plain = await snapshotOf(t, 'axonops', options)
  assert.deepEqual([...plain.snapshot.contextSettings], [])
  const configs = { ':.eu:': { compatibilityLevel: 'FULL' } }
  const { snapshot } = await snapshotOf(t, 'axonops', { ...options, configs, modes: { ':.us:': 'READONLY' } })
  assert.deepEqual(Object.fromEntries(snapshot.contextSettings), {
    '.eu': { compatibility: 'FULL', mode: null, config: null },
    '.us': { compatibility: null, mode: 'READONLY', config: null },
  })
})

test('Karapace is known by the version that it reports, at the top or in its status, and without any', async t => {
  const version = async (health: Record<string, unknown>) => {
    const { snapshot } = await snapshotOf(t, 'karapace', { health })
    return [snapshot.flavour, snapshot.registryVersion]
  }
  assert.deepEqual(await version({}), ['karapace', '6.2.0'])
  const inStatus = { karapace_version: undefined, status: { schema_registry_ready: true, karapace_version: '6.1.1' } }
  assert.deepEqual(await version(inStatus), ['karapace', '6.1.1'])
  assert.deepEqual(await version({ status: {} }), ['karapace', '6.2.0'])
  assert.deepEqual(await version({ karapace_version: undefined }), ['karapace', null])
})

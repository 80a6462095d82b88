import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assignSubjectFolders, escapedSubjectFolder, subjectFolder } from '../../src/archive/write-registry.ts'
import { isKey } from '../../src/lib/object-key.ts'

const folders: Record<string, string> = {
  'orders-value': 'orders-value',
  'com.acme_v2.orders-value': 'com.acme_v2.orders-value',
  'Orders.Created': 'Orders.Created',
  '../x': '%2e.%2fx',
  '.': '%2e',
  '..': '%2e%2e',
  'orders.': 'orders%2e',
  '.tmp-1': '%2etmp-1',
  'google/protobuf/any.proto': 'google%2fprotobuf%2fany.proto',
  ':.prod:orders': '%3a.prod%3aorders',
  'a b%+?#': 'a%20b%25%2b%3f%23',
  '%41': '%2541',
  é: '%c3%a9',
  'e\u0301': 'e%cc%81',
  'a\\b\u0000': 'a%5cb%00',
  '': '%',
}

for (const [subject, folder] of Object.entries(folders)) {
  test(`the subject ${JSON.stringify(subject)} has the folder ${folder}, and is read back from it (edge 14, 15)`, () => {
    assert.equal(subjectFolder(subject), folder)
    assert.equal(parseSubjectFolder(folder), subject)
  })
}

test('a name that would be too long keeps its beginning, and a hash keeps it apart from all others (edge 15)', () => {
  for (const long of ['a'.repeat(300), 'é'.repeat(300), `${'b'.repeat(129)}é${'c'.repeat(200)}`]) {
    const folder = subjectFolder(long)
    assert.ok(folder.length <= 200)
    assert.match(folder, /^([a-z]|%[0-9a-f]{2})+%~[0-9a-f]{64}$/)
    assert.equal(parseSubjectFolder(folder), undefined)
    assert.notEqual(folder, subjectFolder(`${long}x`))
  }
  assert.equal(subjectFolder('a'.repeat(200)), 'a'.repeat(200))
  assert.match(subjectFolder('a'.repeat(201)), /%~/)
})

test('names that are no valid Unicode do not meet', () => {
  const names = ['\ud800', '\ud801', '\ufffd', 'a\ud800'].map(subjectFolder)
  assert.equal(new Set(names).size, names.length)
})

const foldersOf = (subjects: readonly string[], known: Record<string, string> = {}) =>
  Object.fromEntries(assignSubjectFolders(subjects, new Map(Object.entries(known))))

test('of names that differ only in case the first keeps its letters, and the others are escaped', () => {
  assert.deepEqual(foldersOf(['ORDERS', 'Orders', 'Payments', 'orders']), {
    ORDERS: 'ORDERS',
    Orders: '%4frders',
    Payments: 'Payments',
    orders: '%6frders',
  })
  assert.equal(escapedSubjectFolder('1-a'), '1-%61')
})

test('a subject keeps the folder that it has, whatever subjects come and go', () => {
  const first = foldersOf(['Orders', 'orders'])
  assert.deepEqual(foldersOf(['ORDERS', 'Orders', 'orders'], first), { ...first, ORDERS: '%4f%52%44%45%52%53' })
  assert.deepEqual(foldersOf(['orders'], first), { orders: '%6frders' })
  assert.deepEqual(foldersOf(['ORDERS', 'orders'], first), { ORDERS: 'ORDERS', orders: '%6frders' })
})

test('every folder is a safe part of a key, and no two differ in case alone', () => {
  const subjects = [
    ...[...Object.keys(folders), 'orders', 'ORDERS', 'oRders', 'Ä', 'ä', 'A'.repeat(300), 'a'.repeat(300)],
    ...['A'.repeat(150), 'a'.repeat(150), '%6frders', '%4frders', 'é-A', 'é-a'],
  ]
  for (const some of [subjects, subjects.toReversed()]) {
    const names = Object.values(foldersOf(some))
    assert.equal(names.length, subjects.length)
    for (const name of names) {
      assert.ok(isKey(`b1/schema-registry/generations/2.0011aabb/subjects/${name}/metadata.json`), name)
    }
    assert.equal(new Set(names.map(name => name.toLowerCase())).size, names.length)
  }
})

/** The subject of a folder; undefined where the name is too long for it, and only the metadata have it. */
function parseSubjectFolder(folder: string): string | undefined {
  if (folder === '%') return ''
  return folder.includes('%~') ? undefined : decodeURIComponent(folder)
}

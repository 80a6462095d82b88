import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isKey } from '../../src/lib/object-key.ts'
import { assertKey, parsePrefix } from '../../src/storage/key.ts'

const long = 'x'.repeat(255)

for (const key of [
  'a',
  'a/b.c',
  'my%2Fsubject',
  'with space',
  'ü/日本',
  '...',
  '.hidden/..x',
  'tmp-',
  'a/lost+found',
  long,
  `${long}/${long}/${long}/${long}`,
]) {
  test(`${JSON.stringify(key.slice(0, 40))} of ${key.length} characters is a key`, () => {
    assertKey(key)
    assert.equal(isKey(key), true)
  })
}

const refused: Record<string, [key: string, reason: RegExp]> = {
  'an empty key': ['', /it is empty/],
  'a leading slash': ['/a', /empty/],
  'a trailing slash': ['a/', /empty/],
  'a double slash': ['a//b', /empty/],
  'a dot segment': ['a/./b', /"\."/],
  'a segment that climbs': ['../a', /"\.\."/],
  'a segment that climbs at the end': ['a/..', /"\.\."/],
  'a backslash': ['a\\..\\b', /backslash/],
  'a NUL': ['a\0', /control/],
  'a line feed': ['a\n', /control/],
  'a DEL': ['a\x7f', /control/],
  'a C1 control': ['a\x85', /control/],
  'a line separator': ['a\u2028', /control/],
  'half a surrogate pair': ['a\ud800', /Unicode/],
  'a name of unfinished objects': ['a/.tmp-1', /unfinished/],
  'the folder of the file system itself': ['lost+found/a', /file system/],
  'a segment of 256 bytes': [`a/${long}x`, /255 bytes/],
  'a segment of 256 bytes in 128 characters': ['ü'.repeat(128), /255 bytes/],
  'a key of 1025 bytes': [`${long}/${long}/${long}/${long}/y`, /1024 bytes/],
}
for (const [name, [key, reason]] of Object.entries(refused)) {
  test(`${name} is refused with its reason`, () => {
    assert.throws(() => assertKey(key), { code: 'LOCATION_INVALID', message: reason })
    assert.equal(isKey(key), false)
  })
}

test('a prefix is a folder with or without its slash, or nothing', () => {
  assert.equal(parsePrefix(''), '')
  assert.equal(parsePrefix('a/b'), 'a/b')
  assert.equal(parsePrefix('a/b/'), 'a/b')
  for (const prefix of ['/', 'a//', '/a', '../']) assert.throws(() => parsePrefix(prefix), { code: 'LOCATION_INVALID' })
})

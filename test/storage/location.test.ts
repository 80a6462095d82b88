import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatLocation, parseLocation } from '../../src/storage/location.ts'

const accepted: Record<string, string> = {
  '/backups': '/backups',
  '/backups/': '/backups',
  './backups': '/here/backups',
  backups: '/here/backups',
  '.': '/here',
  '../up/x': '/up/x',
  './s3:': '/here/s3:',
  'a/b:c': '/here/a/b:c',
  '/a:b': '/a:b',
  '/with space': '/with space',
  'file:///backups': '/backups',
  'FILE:///backups/x/': '/backups/x',
  'file://localhost/backups': '/backups',
  'file:///with%20space%3F': '/with space?',
}
for (const [text, path] of Object.entries(accepted)) {
  test(`${text} is the folder ${path}`, () => {
    const options = parseLocation(text, '/here')
    assert.deepEqual(options, { backend: 'filesystem', path })
    assert.deepEqual(parseLocation(formatLocation(options), '/elsewhere'), options)
  })
}

const refused: Record<string, RegExp> = {
  '': /empty/,
  '  ': /empty/,
  ' s3://bucket': /blank/,
  'a\0b': /control character/,
  's3://bucket/x': /scheme `s3:` are not supported/,
  'S3://bucket': /scheme `S3:`/,
  's3:/x': /scheme `s3:`/,
  's3:': /scheme `s3:`/,
  's3:bucket': /scheme `s3:`/,
  'gs://bucket': /scheme `gs:`/,
  'https://host/x': /scheme `https:`/,
  's_3://bucket': /scheme `s_3:`/,
  '3s://bucket': /scheme `3s:`/,
  'C:\\backups': /`C:` looks like a Windows drive/,
  'c:/backups': /Windows drive/,
  'file://host/x': /no absolute path/,
  'file:backups': /no absolute path/,
  'file:/backups': /no absolute path/,
  'file:///a?b': /`\?` or `#`/,
  'file:///a%2Fb': /does not decode/,
  'file:///a%00': /does not decode/,
  '~': /not expanded/,
  '~/backups': /not expanded/,
}
for (const [text, message] of Object.entries(refused)) {
  test(`${JSON.stringify(text)} is refused`, () => {
    assert.throws(() => parseLocation(text, '/here'), { name: 'KafkaBackupError', code: 'LOCATION_INVALID', message })
  })
}

test('a refused address does not show what may be a secret in it', () => {
  assert.throws(
    () => parseLocation('s3://AKIA:topsecret@bucket'),
    (error: Error & { help?: string }) => !`${error.message} ${error.help}`.includes('topsecret'),
  )
})

test('the prefix is part of the place that is shown', () => {
  assert.equal(formatLocation({ backend: 'filesystem', path: '/backups', prefix: 'team/a' }), '/backups/team/a')
})

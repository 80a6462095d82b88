import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KafkaBackupError } from '../../src/errors.ts'
import { hasErrno, mapErrno } from '../../src/storage/file/errno.ts'
import { systemError } from './recorded-files.ts'

const context = { action: 'read', key: 'a/b', location: '/backups' }

for (const [code, names] of Object.entries({
  STORAGE_NOT_FOUND: ['ENOENT'],
  STORAGE_EXISTS: ['EEXIST'],
  STORAGE_DENIED: ['EACCES', 'EPERM', 'EROFS'],
  STORAGE_FULL: ['ENOSPC', 'EDQUOT', 'EFBIG'],
  LOCATION_INVALID: ['ENOTDIR', 'EISDIR', 'ENAMETOOLONG', 'ELOOP', 'EINVAL', 'ENOTSUP'],
  STORAGE_UNAVAILABLE: ['EIO', 'EAGAIN', 'EBUSY', 'ESTALE', 'ETIMEDOUT', 'EMFILE', 'ENFILE', 'EREMOTEIO'],
})) {
  test(`${names.join(', ')} become ${code}`, () => {
    for (const name of names) {
      const cause = systemError(name)
      const error = mapErrno(cause, context)
      assert.ok(error instanceof KafkaBackupError)
      assert.equal(error.code, code)
      assert.equal(error.cause, cause)
      assert.match(error.message, new RegExp(`^cannot read "a/b" in /backups: .* \\(${name}\\)$`))
      assert.notEqual(error.help, '')
    }
  })
}

test('what is no error of the system stays what it is', () => {
  const coded = new KafkaBackupError('STORAGE_SHORT', 'short')
  const abort = new DOMException('stopped', 'AbortError')
  for (const error of [coded, abort, new TypeError('bug'), 'text', undefined]) {
    assert.equal(mapErrno(error, context), error)
    assert.equal(hasErrno(error, 'ENOENT'), false)
  }
})

test('a call on the whole location names the location alone', () => {
  const error = mapErrno(systemError('EACCES'), { action: 'list', key: '', location: '/backups' })
  assert.equal(String(error), 'KafkaBackupError: cannot list in /backups: permission denied (EACCES)')
})

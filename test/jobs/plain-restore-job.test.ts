import assert from 'node:assert/strict'
import { test } from 'node:test'
import { plainRestoreJob } from '../../src/jobs/compare.ts'

test('names no line of a file for a bad --target, since there is none', async () => {
  await assert.rejects(plainRestoreJob({ path: '/backups', backupId: 'orders', target: 'x:y:z' }), {
    code: 'CONFIG_INVALID',
    message: /^the command line: 1 error\n {2}target\.bootstrap_servers\.0: "x:y:z" needs .*(?<!\[line \d+\])$/,
  })
})

import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { manPages } from '../../docs/man-pages.ts'
import { commandTable } from '../../src/cli/command-table.ts'
import { systemProgram } from '../servers/system-program.ts'

const pages = manPages('0.1.0')
const groff = await systemProgram('groff', 'groff-base')

test('there is a manual page for the program and for every command', () => {
  const names = commandTable.map(({ name }) => `kafka-backup-${name}.1`)
  assert.deepEqual([...pages.keys()], ['kafka-backup.1', ...names])
})

test('groff formats every page without a warning', () => {
  const input = [...pages.values()].join('')
  const { stderr, status } = spawnSync(groff, ['-man', '-ww', '-z', '-Tutf8'], { input, encoding: 'utf8' })
  assert.deepEqual([status, stderr], [0, ''])
})

test('a page shows every option and example as they are typed', () => {
  const backup = commandTable.find(({ name }) => name === 'cat') ?? assert.fail()
  const args = ['-man', '-Tascii', '-P-cbou', '-rLL=400n']
  const shown = execFileSync(groff, args, { input: pages.get('kafka-backup-cat.1'), encoding: 'utf8' })
  for (const { name } of backup.options) assert.match(shown, new RegExp(`--${name}\\b`))
  for (const { command } of backup.examples) assert.ok(shown.includes(command), command)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cliReference, errorReference } from '../../docs/cli-reference.ts'
import { commandTable } from '../../src/cli/command-table.ts'
import { parseCommandLine } from '../../src/cli/program.ts'
import { errorTable } from '../../src/error-table.ts'
import { FakeIo } from './fake-io.ts'

test('the reference has a section with synopsis, options and examples for every command', () => {
  const sections = cliReference().split(/^## /m).slice(1)
  assert.deepEqual(
    sections.map(section => section.split('\n')[0]),
    [...commandTable.map(command => command.name), 'Options of every command'],
  )
  commandTable.forEach(({ name, options, examples }, at) => {
    const section = sections[at] ?? ''
    assert.match(section, new RegExp(`\n\`\`\`\nkafka-backup ${name}`))
    for (const option of options) assert.match(section, new RegExp(`^\\| \`.*--${option.name}\\b.* \\|$`, 'm'))
    for (const example of examples) assert.ok(section.includes(example.command))
  })
})

test('every example is a command line that the program accepts', () => {
  for (const { name, examples } of commandTable) {
    for (const { command } of examples) {
      const words = /kafka-backup (.*?)(\)| >|$)/.exec(command)?.[1]?.split(' ') ?? []
      // kubectl starts the plugin without its own name.
      if (command.startsWith('kubectl ')) words.unshift('kubectl')
      const line = parseCommandLine(words, new FakeIo(), '0')
      assert.equal('command' in line && line.command.name, name)
    }
  }
})

test('the table of errors has every code with its exit code', () => {
  const rows = errorReference().split('\n').slice(2)
  const cells = rows.map(row => row.split('|').map(cell => cell.trim()))
  assert.deepEqual(
    cells.map(([, code, exitCode]) => [code?.replaceAll('`', ''), Number(exitCode)]),
    Object.entries(errorTable).map(([code, { exitCode }]) => [code, exitCode]),
  )
})

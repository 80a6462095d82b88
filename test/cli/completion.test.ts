import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { commandTable } from '../../src/cli/command-table.ts'
import { formatBashCompletion } from '../../src/cli/completion-bash.ts'
import { formatFishCompletion } from '../../src/cli/completion-fish.ts'
import { formatZshCompletion } from '../../src/cli/completion-zsh.ts'
import { main } from '../../src/cli/main.ts'
import { commonOptions } from '../../src/cli/option-specs.ts'
import { fakeActions } from './fake-actions.ts'
import { FakeIo } from './fake-io.ts'

/** What a real bash offers for the words, of which the last is being typed. */
function complete(words: string[], cwd = '/'): string[] {
  const script = `${formatBashCompletion()}
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_kafka_backup
((\${#COMPREPLY[@]})) && printf '%s\\n' "\${COMPREPLY[@]}" || true`
  const out = execFileSync('bash', ['-uc', script, 'bash', 'kafka-backup', ...words], { cwd, encoding: 'utf8' })
  return out.split('\n').filter(line => line !== '')
}

describe('bash', () => {
  test('sources the script without output and registers it', () => {
    const script = 'source <(printf %s "$1"); complete -p kafka-backup'
    const out = execFileSync('bash', ['-euc', script, 'bash', formatBashCompletion()], { encoding: 'utf8' })
    assert.equal(out, 'complete -F _kafka_backup kafka-backup\n')
  })

  test('offers the commands', () => {
    assert.deepEqual(complete(['']), [...commandTable.map(command => command.name), 'help', '--help', '--version'])
    assert.deepEqual(complete(['ba']), ['backup'])
    assert.deepEqual(complete(['help', 'ver']), ['verify'])
  })

  test('offers the options of each command', () => {
    for (const { name, options } of commandTable) {
      const expected = [...options, ...commonOptions].map(option => `--${option.name}`)
      assert.deepEqual(complete([name, '--']), expected)
    }
    const schemas = commandTable.find(({ name }) => name === 'schemas')
    const expected = [...(schemas?.options ?? []), ...commonOptions].map(option => `--${option.name}`)
    assert.deepEqual(complete(['schemas', 'backup', '--']), expected)
  })

  test('offers the values of choices, also after an equals sign', () => {
    assert.deepEqual(complete(['list', '--format', '']), ['text', 'json'])
    assert.deepEqual(complete(['list', '--format', '=', 'j']), ['json'])
    assert.deepEqual(complete(['list', '--format', '=']), ['text', 'json'])
    assert.deepEqual(complete(['completion', '']).slice(0, 3), ['bash', 'zsh', 'fish'])
  })

  test('offers files for a job file, only folders for a location, and nothing for a name', () => {
    const folder = mkdtempSync(join(tmpdir(), 'kafka-backup-completion-'))
    try {
      mkdirSync(join(folder, 'jobs *'))
      writeFileSync(join(folder, 'job one.yaml'), '')
      assert.deepEqual(complete(['backup', '--config', 'jo'], folder).sort(), ['job one.yaml', 'jobs *'])
      assert.deepEqual(complete(['list', '-p', 'jo'], folder), ['jobs *'])
      assert.deepEqual(complete(['describe', '--backup-id', 'jo'], folder), [])
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})

describe('zsh', () => {
  const script = formatZshCompletion()

  test('has the header that the completion system looks for, and works when it is sourced', () => {
    assert.match(script, /^#compdef kafka-backup\n/)
    assert.match(script, /\n {2}compdef _kafka_backup kafka-backup\n/)
  })

  test('has every command with every option', () => {
    for (const { name, options } of commandTable) {
      const start = script.indexOf(`        ${name})\n`)
      const section = script.slice(start, script.indexOf(';;', start))
      assert.ok(start > 0, name)
      for (const option of [...options, ...commonOptions]) {
        assert.ok(section.includes(`--${option.name}`), `${name} --${option.name}`)
      }
    }
  })

  test('escapes characters that would end a description', () => {
    for (const [, description] of script.matchAll(/\[((?:\\.|[^\]\\])*)\]/g)) {
      assert.doesNotMatch(description ?? '', /(?<!\\):|`/)
    }
  })

  test('has balanced quotes', () => {
    execFileSync('bash', ['-c', `set -- ${script.match(/_arguments \\\n([\s\S]*?)\n {10};;/)?.[1]}`])
  })
})

describe('fish', () => {
  const lines = formatFishCompletion().trimEnd().split('\n')

  test('has every command with its summary and every option', () => {
    for (const { name, summary, options } of commandTable) {
      assert.ok(lines.some(line => line.includes(`-a ${name} -d '${summary}'`)))
      for (const option of [...options, ...commonOptions]) {
        const start = `complete -c kafka-backup -n '__fish_seen_subcommand_from ${name}`
        assert.ok(lines.some(line => new RegExp(`^${start}[';]`).test(line) && line.includes(`-l ${option.name} `)))
      }
    }
  })

  test('completes files only for options that take a file', () => {
    assert.ok(lines.includes('complete -c kafka-backup -f'))
    const all = commandTable.flatMap(({ options }) => options)
    const names = new Set(all.filter(({ value }) => value?.kind === 'file').map(({ name }) => name))
    for (const line of lines.filter(one => one.includes(' -F '))) {
      assert.ok(names.has(/ -l (\S+) /.exec(line)?.[1] ?? ''), line)
    }
  })

  test('does not mistake the action of a command for a command', () => {
    const ofList = lines.filter(line => line.includes('__fish_seen_subcommand_from list'))
    assert.ok(ofList.length > 0)
    for (const line of ofList)
      assert.match(line, /; and not __fish_seen_subcommand_from schemas; and not __fish_seen_subcommand_from key'/)
  })
})

test('prints the script of the requested shell', async () => {
  const scripts = { bash: formatBashCompletion(), zsh: formatZshCompletion(), fish: formatFishCompletion() }
  for (const [shell, script] of Object.entries(scripts)) {
    const io = new FakeIo()
    assert.equal(await main(['completion', shell], io, fakeActions()), 0)
    assert.equal(io.stdout.text, script)
  }
})

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { commandTable } from '../../src/cli/command-table.ts'
import { commonOptions } from '../../src/cli/common-options.ts'
import { formatBashCompletion } from '../../src/cli/completion-bash.ts'
import { formatFishCompletion } from '../../src/cli/completion-fish.ts'
import { formatZshCompletion } from '../../src/cli/completion-zsh.ts'
import { main } from '../../src/cli/main.ts'
import { KafkaBackupError } from '../../src/errors.ts'
import { fakeActions } from './fake-actions.ts'
import { FakeIo } from './fake-io.ts'

/** What a real bash offers for the words, of which the last is being typed. */
function complete(words: string[], cwd = '/'): string[] {
  const script = `${formatBashCompletion()}
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=\${#COMP_LINE}
kafka-backup() { printf '%s\\n' orders orders-eu '$(touch evaluated)' "\${*:3}"; }
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

  test('offers files for a job file, and only folders for a location', () => {
    const folder = mkdtempSync(join(tmpdir(), 'kafka-backup-completion-'))
    try {
      mkdirSync(join(folder, 'jobs *'))
      writeFileSync(join(folder, 'job one.yaml'), '')
      assert.deepEqual(complete(['backup', '--config', 'jo'], folder).sort(), ['job one.yaml', 'jobs *'])
      assert.deepEqual(complete(['list', '-p', 'jo'], folder), ['jobs *'])
      assert.deepEqual(complete(['list', 'jo'], folder), ['jobs *'])
      assert.deepEqual(complete(['check', 'job o'], folder), ['job one.yaml'])
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})

describe('names of backups', () => {
  test('are asked for with the words of the line, and not evaluated by bash', () => {
    const folder = mkdtempSync(join(tmpdir(), 'kafka-backup-completion-'))
    try {
      assert.deepEqual(complete(['describe', '--backup-id', 'or'], folder), ['orders', 'orders-eu'])
      assert.deepEqual(complete(['describe', 'orders-'], folder), ['orders-eu'])
      assert.deepEqual(complete(['cat', '-p', 's3://a/b', '-b', 'x', '--topic', '$'], folder), ['$(touch evaluated)'])
      const asked = complete(['cat', '-p', 's3://a/b', '-b', 'x', '--topic', '-'], folder)
      assert.deepEqual(asked, ['-- cat -p s3://a/b -b x --topic -'])
      assert.deepEqual(readdirSync(folder), [])
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  const names = async (words: string[], env: Record<string, string> = {}) => {
    const io = new FakeIo({ env })
    const actions = fakeActions()
    assert.equal(await main(['completion', 'names', '--', ...words], io, actions), 0)
    return { lines: io.stdout.text.split('\n').filter(line => line !== ''), calls: actions.calls }
  }

  test('are those of the location of the line, of its job, or of KAFKA_BACKUP_LOCATION', async () => {
    const ids = ['orders', 'payments']
    const atPath = await names(['describe', '--path=/backups', ''])
    assert.deepEqual([atPath.lines, atPath.calls.openLocation?.[0]], [ids, '/backups'])
    const ofJob = await names(['verify', '-c', 'job.yaml', '--backup-id', ''])
    assert.deepEqual([ofJob.lines, ofJob.calls.loadClusterlessJob?.[0]], [ids, 'job.yaml'])
    const usual = await names(['describe', 'o'], { KAFKA_BACKUP_LOCATION: '/usual' })
    assert.deepEqual([usual.lines, usual.calls.openLocation?.[0]], [ids, '/usual'])
    assert.deepEqual((await names(['describe', ''])).lines, [])
  })

  test('are topics where a topic is typed', async () => {
    for (const words of [
      ['cat', '-p', '/backups', 'orders', ''],
      ['cat', '-p', '/backups', '--backup-id', 'orders', '--topic', 'o'],
    ]) {
      const { lines, calls } = await names(words)
      assert.deepEqual([lines, calls.openBackup?.[1]], [['orders'], 'orders'])
    }
    assert.deepEqual((await names(['cat', '-p', '/backups', '--limit', ''])).lines, [])
  })

  test('that a shell could evaluate are left out', async () => {
    const io = new FakeIo()
    const listBackupIds = async () => ['orders', '$(reboot)', 'a b', '-rf', 'x;y']
    const actions = { ...fakeActions(), listBackupIds }
    assert.equal(await main(['completion', 'names', '--', 'describe', '-p', '/b', ''], io, actions), 0)
    assert.equal(io.stdout.text, 'orders\n')
  })

  test('are empty, with exit code 0, where the location cannot be read', async () => {
    const io = new FakeIo()
    const openLocation = async () => {
      throw new KafkaBackupError('STORAGE_NOT_FOUND', 'there is nothing at /b')
    }
    assert.equal(
      await main(['completion', 'names', '--', 'describe', '-p', '/b', ''], io, { ...fakeActions(), openLocation }),
      0,
    )
    assert.deepEqual([io.stdout.text, io.stderr.text], ['', ''])
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
      assert.ok(names.has(/ -l (\S+) /.exec(line)?.[1] ?? '') || line.endsWith("-F -d 'short for -c, --config'"), line)
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

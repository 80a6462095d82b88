import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { Actions } from '../../src/cli/actions.ts'
import { main } from '../../src/cli/main.ts'
import { exportAt } from '../../src/jobs/export.ts'
import { openStorage } from '../../src/storage/open-storage.ts'
import { temporaryFolder } from '../export/shown-records.ts'
import { exportReport, fakeActions } from './fake-actions.ts'
import { FakeIo } from './fake-io.ts'

const golden = () => openStorage({ backend: 'filesystem', path: join(import.meta.dirname, '../golden/v0.1.0') })
const real: Actions['exportAt'] = (_storage, _id, request, signal) => exportAt(golden(), 'golden', request, signal)

async function run(action: Actions['exportAt'], ...argv: string[]) {
  const io = new FakeIo()
  const actions = fakeActions({ exportAt: action })
  const place = ['--path', '/backups', '--backup-id', 'golden', '--topic', 'golden']
  const code = await main(['export', ...place, ...argv], io, actions)
  return { code, out: io.stdout.text, err: io.stderr.text }
}

describe('export', () => {
  for (const [as, files] of [
    ['jsonl', ['golden.jsonl']],
    ['csv', ['golden.csv']],
    ['avro', ['golden.bytes.avro']],
    ['parquet', ['golden.parquet']],
    ['segments', ['golden-0', 'golden-1']],
  ] as const) {
    test(`writes ${as} files, and prints which`, async () => {
      using folder = temporaryFolder()
      const { code, out, err } = await run(real, '--as', as, '--out', folder.path)
      assert.equal(code, 0, err)
      assert.match(out, /golden/)
      assert.match(out, / records in \d files? \(/)
      assert.deepEqual(readdirSync(folder.path).sort(), ['export.json', ...files])
    })
  }

  test('prints the summary as JSON', async () => {
    using folder = temporaryFolder()
    const { out } = await run(real, '--out', folder.path, '--key-prefix', 'lz4', '--format', 'json')
    const report = JSON.parse(out)
    assert.deepEqual([report.records, report.searched], [2, 18])
    assert.deepEqual(report, JSON.parse(readFileSync(join(folder.path, 'export.json'), 'utf8')))
  })

  test('prints records to standard output, and how many to standard error', async () => {
    const { code, out, err } = await run(real, '--out', '-', '--limit', '3')
    assert.equal(code, 0)
    assert.deepEqual(
      out
        .trimEnd()
        .split('\n')
        .map(line => JSON.parse(line).offset),
      [0, 1, 2],
    )
    assert.match(err, /export: exported 3 of 3 records; it stopped at --limit/)
  })

  test('says what was not decoded, and why', async () => {
    const { code, err } = await run(async () => exportReport, '--out', '/files')
    assert.equal(code, 0)
    assert.match(err, /0 keys and 1 value not decoded, and exported as stored: the backup has no schema ID 4/)
  })

  test('ends with 3 where schemas are damaged, and with the files complete', async () => {
    const damaged: Actions['exportAt'] = async (_storage, _id, { tally }) => {
      tally.damage = 'v1.json is missing'
      return exportReport
    }
    const { code, out, err } = await run(damaged, '--out', '/files')
    assert.equal(code, 3)
    assert.match(out, /orders\.jsonl/)
    assert.match(err, /exported as they are stored: v1\.json is missing/)
  })

  for (const [argv, message] of [
    [['--out', '-', '--as', 'parquet'], /--as parquet needs a folder/],
    [['--out', '-', '--format', 'json'], /--format json needs a folder/],
    [['--out', '/x', '--as', 'avro', '--value-as', 'hex'], /do not apply to --as avro/],
    [['--out', '/x', '--as', 'segments', '--with-aborted'], /--with-aborted does not apply to --as segments/],
    [['--out', '/x', '--keep-formulas'], /--keep-formulas applies to --as csv only/],
    [['--out', '/x', '--where', 'a=='], /--where "a==" has two equals signs/],
    [['--out', 'ftp://x'], /unsupported location scheme/],
  ] as const) {
    test(`refuses ${argv.join(' ')}`, async () => {
      const { code, err } = await run(real, ...argv)
      assert.equal(code, 2)
      assert.match(err, message)
    })
  }
})

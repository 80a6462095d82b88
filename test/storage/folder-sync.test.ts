import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FileCalls } from '../../src/storage/file/file-calls.ts'
import { createFolderSync } from '../../src/storage/file/folders.ts'

interface Pending {
  folder: string
  end(error?: Error): void
}

/** File calls whose fsyncs end when the test says so. */
function manualFiles() {
  const pending: Pending[] = []
  const open = async (folder: string) => ({
    sync: () =>
      new Promise<void>((resolve, reject) => {
        pending.push({ folder, end: error => (error === undefined ? resolve() : reject(error)) })
      }),
    close: async () => {},
  })
  return { pending, files: { open } as unknown as FileCalls }
}

const turn = () => new Promise(resolve => setImmediate(resolve))

test('those who ask while an fsync runs share the next one, which begins after they asked', async () => {
  const { pending, files } = manualFiles()
  const sync = createFolderSync(files)
  const done: string[] = []
  const ask = (name: string) => sync('/f').then(() => done.push(name))
  const first = ask('first')
  await turn()
  const others = [ask('second'), ask('third')]
  await turn()
  assert.equal(pending.length, 1)
  pending[0]?.end()
  await first
  await turn()
  assert.deepEqual(done, ['first'])
  assert.equal(pending.length, 2)
  const late = ask('late')
  pending[1]?.end()
  await Promise.all(others)
  await turn()
  assert.deepEqual(done, ['first', 'second', 'third'])
  assert.equal(pending.length, 3)
  pending[2]?.end()
  await late
  assert.equal(pending.length, 3)
})

test('a failed fsync fails those who waited for it and not those who wait for the next', async () => {
  const { pending, files } = manualFiles()
  const sync = createFolderSync(files)
  const first = assert.rejects(sync('/f'), /broken/)
  await turn()
  const second = sync('/f')
  pending[0]?.end(new Error('broken'))
  await first
  await turn()
  pending[1]?.end()
  await second
})

test('folders do not wait for each other', async () => {
  const { pending, files } = manualFiles()
  const sync = createFolderSync(files)
  const one = sync('/one')
  const other = sync('/other')
  await turn()
  assert.deepEqual(
    pending.map(({ folder }) => folder),
    ['/one', '/other'],
  )
  pending[1]?.end()
  await other
  pending[0]?.end()
  await one
})

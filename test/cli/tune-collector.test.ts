import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'

/** In its own process, as the flags of the runtime hold for all of one. Prints the size of the space for new objects. */
const script = `
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
// As bin/kafka-backup.js does.
setFlagsFromString('--semi-space-growth-factor=1')
const { tuneCollector } = await import(process.argv[1])
const print = () => {
  const space = getHeapSpaceStatistics().find(one => one.space_name === 'new_space')
  console.log(space.space_used_size + space.space_available_size)
}
tuneCollector({ onProgress: () => {} })
print()
let kept = []
for (let i = 0; i < 400_000; i++) {
  kept.push({ i, list: [i] })
  if (kept.length > 50_000) kept = []
}
print()
`

/** Of the runtime's heap. The space may have one more or less at a moment. */
const PAGE_BYTES = 256 << 10

test('a continuous run has four megabytes for new objects, and stays there', () => {
  const module = new URL('../../src/cli/commands/tune-collector.ts', import.meta.url).href
  const printed = execFileSync(process.execPath, ['--input-type=module', '-e', script, module], { encoding: 'utf8' })
  const [after = 0, later = 0] = printed.trim().split('\n').map(Number)
  assert.ok(after > 3.5 * (1 << 20) && after < 8 << 20, `${after} bytes`)
  assert.ok(Math.abs(later - after) <= PAGE_BYTES, `${later} bytes instead of ${after}`)
})

const growing = `
import { getHeapStatistics } from 'node:v8'
const { tuneCollector } = await import(process.argv[1])
const events = []
const { onProgress } = tuneCollector({ onProgress: event => events.push(event.type) })
const usedBytes = () => getHeapStatistics().used_heap_size
const event = { type: 'round', ok: true }
onProgress(event)
const before = usedBytes()
// They survive until they are in the heap of old objects, which the runtime collects only when it has grown by more.
let kept = []
for (let i = 0; i < 90_000; i++) kept.push({ i, list: [i, i, i, i, i, i, i, i] })
const grown = usedBytes()
kept = []
onProgress({ type: 'idle', ms: 1 })
onProgress(event)
console.log(JSON.stringify({ before, grown, after: usedBytes(), events, isHidden: globalThis.gc === undefined }))
`

test('a continuous run collects what a round has left behind before the next one', () => {
  const module = new URL('../../src/cli/commands/tune-collector.ts', import.meta.url).href
  const printed = execFileSync(process.execPath, ['--input-type=module', '-e', growing, module], { encoding: 'utf8' })
  const { before, grown, after, events, isHidden } = JSON.parse(printed)
  assert.deepEqual(events, ['round', 'idle', 'round'])
  assert.ok(grown > before + (12 << 20), `${grown - before} bytes more`)
  assert.ok(after < before + (4 << 20), `${after - before} bytes are left`)
  assert.ok(isHidden)
})

import { relative, resolve } from 'node:path'
import type { TestEvent } from 'node:test/reporters'

const root = resolve(import.meta.dirname, '..')

/** A reporter of Node's test runner: a line of JSON for each outermost test or suite, with its file and its seconds. */
export default async function* reportDurations(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const { type, data } of events) {
    if (type !== 'test:complete' || data.nesting !== 0 || data.file === undefined) continue
    yield `${JSON.stringify({ file: relative(root, data.file), seconds: data.details.duration_ms / 1000 })}\n`
  }
}

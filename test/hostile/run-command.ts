import { main } from '../../src/cli/main.ts'
import { errorTable } from '../../src/error-table.ts'
import type { ErrorCode } from '../../src/errors.ts'
import { FakeIo } from '../cli/fake-io.ts'
import { type Watch, watchCalls } from './watched-calls.ts'

export interface CommandRun {
  exitCode: number
  output: string
  watch: Watch
  /** What a served registry or console answered that none may. */
  badAnswers: string[]
}

/** Runs a command of the program in this process, through the same entry as the executable. */
export async function runCommand(argv: string[], serves: boolean): Promise<CommandRun> {
  const io = new FakeIo()
  // The archives are written now, and must not come from the future.
  io.clock.pass(Date.now() - io.clock.now())
  const badAnswers: string[] = []
  const { result: exitCode, watch } = await watchCalls(async () => {
    const running = main(argv, io)
    if (serves)
      await stopServing(io, running, argv[0] === 'console' ? consolePages : [...asked, ...settings], badAnswers)
    return running
  })
  return { exitCode, output: `${io.stdout.text}\n${io.stderr.text}`, watch, badAnswers }
}

const asked = ['/subjects', '/schemas/ids/1', '/subjects/orders-value/versions/latest', '/schemas', '/contexts']
const settings = ['/config', '/mode', '/schemas/types', '/subjects/__proto__/versions', '/schemas/ids/-1']

/** Those of both backups; what cannot be read is a page, too, and only a failure of the console itself has the status 500. */
const consolePages = ['', ...['plain', 'sealed', 'log'].flatMap(id => pagesOf(`/at/0/${id}`))]

function pagesOf(backup: string): string[] {
  return [
    '',
    '/topics/orders',
    '/topics/orders/records',
    '/topics/orders/records?text=x',
    '/topics/orders/records/0/0',
    '/topics/orders/records/0/0/value',
    '/schemas',
    '/schemas/subject?name=orders-value',
    '/groups',
    '/groups/group?name=billing',
    '/restore?as-of=2099-01-01',
  ].map(path => backup + path)
}

/** Asks what clients ask, then stops it. */
async function stopServing(
  io: FakeIo,
  running: Promise<number>,
  paths: readonly string[],
  badAnswers: string[],
): Promise<void> {
  const url = await servedUrl(io, running)
  if (url === undefined) return
  for (const path of paths) {
    const answer = await fetch(`${url}${path}`)
    const text = await answer.text()
    if (answer.status === 500 || (answer.status > 500 && paths !== consolePages))
      badAnswers.push(`${path}: ${answer.status} ${text}`)
  }
  io.signal('SIGTERM')
}

/** Undefined where the command ended before it served anything. */
function servedUrl(io: FakeIo, running: Promise<number>): Promise<string | undefined> {
  return new Promise(resolve => {
    const { write } = io.stdout
    io.stdout.write = function (text: string) {
      write.call(this, text)
      const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(text) ?? []
      if (url !== undefined) setImmediate(() => resolve(url))
    }
    running.then(() => resolve(undefined))
  })
}

/** What the output says of a failure. */
export function errorIn(output: string): ErrorCode | undefined {
  const [, json] = /^\{\n {2}"error": \{\n {4}"code": "([A-Z_]+)"/.exec(output) ?? []
  const [, text] = /^help: .*\(([A-Z_]+)\)$/m.exec(output) ?? []
  const code = json ?? text
  return code !== undefined && code in errorTable ? (code as ErrorCode) : undefined
}

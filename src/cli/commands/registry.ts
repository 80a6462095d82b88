import { KafkaBackupError } from '../../errors.ts'
import type { Session } from '../session.ts'

/** Serves until it is stopped, which is its normal end. */
export async function run(session: Session): Promise<number> {
  const address = parseAddress(session.options.listen ?? '')
  const firstId = parseFirstId(session.options.firstId ?? '')
  const server = await session.actions.openRegistry({ ...address, firstId })
  try {
    session.print(
      () => [`A schema registry in memory is at ${session.look.bold(server.url)} until this command is stopped.`],
      () => ({ url: server.url }),
    )
    await untilAborted(session.signal)
    return 0
  } finally {
    await server.close()
  }
}

function parseAddress(text: string): { host: string; port: number } {
  const [, bracketed, plain, digits = ''] = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(text) ?? []
  const host = bracketed ?? plain
  const port = Number(digits)
  if (host !== undefined && port <= 65_535) return { host, port }
  throw new KafkaBackupError('USAGE', `--listen ${text} is no address: give a host and a port, such as 127.0.0.1:8081`)
}

/** Ids are four bytes in a message, and the first bit is none of them. */
function parseFirstId(text: string): number {
  const id = Number(text)
  if (/^\d+$/.test(text) && id >= 1 && id < 2 ** 31) return id
  throw new KafkaBackupError('USAGE', `--first-id ${text} is no id: give a whole number from 1 to 2147483647`)
}

function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise(resolve => signal.addEventListener('abort', () => resolve(), { once: true }))
}

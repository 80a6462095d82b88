import { fork } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A network to a server of this machine, as a process: its CPU time is not that of the program which is measured. */
export interface FarLink extends AsyncDisposable {
  port: number
  /** For bytes that arrive from now on; starts to count requests from zero. */
  setRoundTrip(ms: number): Promise<void>
  /** HTTP requests since the round trip was set. */
  countRequests(): Promise<number>
}

export async function openFarLink(targetPort: number, bytesPerSecond: number): Promise<FarLink> {
  const child = fork(import.meta.filename, [String(targetPort), String(bytesPerSecond)])
  const ask = async (question: object): Promise<number> => {
    child.send(question)
    const [answer] = (await once(child, 'message')) as [number]
    return answer
  }
  return {
    port: await ask({}),
    setRoundTrip: async roundTripMs => void (await ask({ roundTripMs })),
    countRequests: () => ask({ count: true }),
    [Symbol.asyncDispose]: async () => {
      child.disconnect()
      await once(child, 'exit')
    },
  }
}

const rules = { delayMs: 0, bytesPerSecond: Number.POSITIVE_INFINITY }
let requests = 0
/** What a line may hold back beyond what is under way. */
const SLACK_MS = 20

if (process.send && process.argv[1] === import.meta.filename) await serve(Number(process.argv[2]))

async function serve(targetPort: number): Promise<void> {
  rules.bytesPerSecond = Number(process.argv[3])
  const server = createServer({ noDelay: true }, client => {
    const upstream = connect({ port: targetPort, host: '127.0.0.1', noDelay: true })
    const countHeads = requestCounter()
    carry(client, upstream, countHeads)
    carry(upstream, client, () => undefined)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  process.on('message', (question: { roundTripMs?: number; count?: true }) => {
    if (question.roundTripMs !== undefined) {
      rules.delayMs = question.roundTripMs / 2
      requests = 0
    }
    process.send?.(question.count ? requests : (server.address() as AddressInfo).port)
  })
  process.on('disconnect', () => process.exit())
}

/** Each byte leaves when those before it have, at the rate of the connection, and arrives after the delay. */
function carry(from: Socket, to: Socket, onBytes: (chunk: Buffer) => void): void {
  const waiting: { at: number; chunk: Buffer | undefined }[] = []
  let freeAt = 0
  let timer: NodeJS.Timeout | undefined
  const deliver = () => {
    timer = undefined
    for (let first = waiting[0]; first && first.at <= performance.now(); first = waiting[0]) {
      waiting.shift()
      if (first.chunk) to.write(first.chunk)
      else to.end()
    }
    const [first] = waiting
    if (first) timer = setTimeout(deliver, Math.max(1, first.at - performance.now()))
  }
  const add = (at: number, chunk?: Buffer) => {
    waiting.push({ at, chunk })
    if (!timer) deliver()
  }
  from.on('data', chunk => {
    onBytes(chunk)
    const now = performance.now()
    freeAt = Math.max(now, freeAt) + (1000 * chunk.length) / rules.bytesPerSecond
    if (freeAt - now > SLACK_MS) {
      from.pause()
      setTimeout(() => from.resume(), freeAt - now - SLACK_MS / 2)
    }
    add(freeAt + rules.delayMs, chunk)
  })
  from.on('end', () => add(Math.max(performance.now(), freeAt) + rules.delayMs))
  from.on('error', () => to.destroy())
  from.on('close', () => {
    if (from.errored) to.destroy()
  })
}

/** Counts heads of requests on one connection. Their bodies have a stated length, as those of the S3 client. */
function requestCounter(): (chunk: Buffer) => void {
  let head = ''
  let bodyBytes = 0
  return chunk => {
    let rest = chunk
    while (rest.length > 0) {
      const skipped = Math.min(bodyBytes, rest.length)
      bodyBytes -= skipped
      rest = rest.subarray(skipped)
      if (rest.length === 0) return
      const known = head.length
      head += rest.toString('latin1')
      const end = head.indexOf('\r\n\r\n')
      if (end < 0) return
      requests++
      bodyBytes = Number(/\r\ncontent-length: *(\d+)/i.exec(head.slice(0, end))?.[1] ?? 0)
      rest = rest.subarray(end + 4 - known)
      head = ''
    }
  }
}

import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { countCpuOf } from '../cpu-seconds.ts'
import { driveOver, driverFlags, driverSettings, type KafkaDriver } from './driver.ts'
import { callOver, startDriverProcess } from './driver-process.ts'
import { onMessage, writeMessage } from './driver-wire.ts'
import { makeGuardedFolder } from './guard.ts'
import { type KafkaServer, startKafka } from './kafka.ts'

/**
 * Kafka servers with drivers that test files use one after the other: a broker and a driver that have run for a while do
 * the same work in a fraction of the CPU time. A file has its server for itself, as in a new cluster: `reset` of the
 * driver empties it afterwards. What cannot be emptied is replaced.
 */
export interface KafkaLender {
  /** Where `borrowKafka` finds it. */
  socket: string
  close(): Promise<void>
}

/** What a borrower may do with a server; stopping brokers is for those who start their own. */
export type SharedKafkaServer = Pick<
  KafkaServer,
  'bootstrapServers' | 'dataDirs' | 'logFiles' | 'version' | 'clusterId' | 'libs'
>

export async function openKafkaLender(): Promise<KafkaLender> {
  const folder = await makeGuardedFolder('lender')
  const socket = join(folder.path, 'lender.sock')
  const idle: Loanable[] = []
  const all = new Set<Loanable>()
  // A borrower has left when the server is reset, so that the next file finds it.
  const server = createServer({ allowHalfOpen: true }, borrower => {
    void lend(borrower, idle, all).catch(error => {
      process.stderr.write(`no Kafka to lend: ${error.stack}\n`)
      borrower.destroy()
    })
  })
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(socket, resolve))
  const close = async () => {
    server.close()
    await Promise.all([...all].map(one => one.stop()))
    await folder.remove()
  }
  return { socket, close }
}

async function lend(borrower: Socket, idle: Loanable[], all: Set<Loanable>): Promise<void> {
  borrower.on('error', () => {})
  const one = idle.pop() ?? (await startLoanable())
  all.add(one)
  await one.serve(borrower)
  const problem = await one.reset()
  if (problem === undefined) idle.push(one)
  else {
    process.stderr.write(`a shared Kafka is replaced: ${problem}\n`)
    all.delete(one)
    await one.stop()
  }
  borrower.end()
}

interface Loanable {
  /** Passes messages on until the borrower leaves. */
  serve(borrower: Socket): Promise<void>
  /** Makes the server as good as new; the reason where that fails. */
  reset(): Promise<string | undefined>
  stop(): Promise<void>
}

async function startLoanable(): Promise<Loanable> {
  const server = await startKafka()
  const flags = await driverFlags()
  const driver = await startDriverProcess(flags, driverSettings(server))
  const { bootstrapServers, dataDirs, logFiles, version, clusterId, libs } = server
  const shared: SharedKafkaServer = { bootstrapServers, dataDirs, logFiles, version, clusterId, libs }
  let hasEnded = false
  void driver.ended.then(() => {
    hasEnded = true
  })
  /** Calls of the borrower that the driver has not answered. */
  const unanswered = new Set<unknown>()
  let onAnswer: ((json: Record<string, unknown>, payload: Buffer) => void) | undefined
  onMessage(driver.answers, ({ json, payload }) => {
    if (json.more !== true) unanswered.delete(json.id)
    onAnswer?.(json, payload)
  })
  driver.requests.on('error', () => {})
  return {
    serve: borrower =>
      new Promise(resolve => {
        onAnswer = (json, payload) => writeMessage(borrower, json, [payload])
        void driver.ended.then(reason => borrower.destroy(new Error(reason)))
        onMessage(borrower, ({ json, payload }) => {
          unanswered.add(json.id)
          writeMessage(driver.requests, json, [payload])
        })
        const leave = () => {
          onAnswer = undefined
          resolve()
        }
        borrower.once('end', leave).once('close', leave)
        if (borrower.destroyed) leave()
        writeMessage(borrower, { id: LOAN, result: { shared, pids: [server.brokerPid(0), driver.pid] } }, [])
      }),
    reset: async () => {
      if (hasEnded || server.brokerPid(0) === undefined) return 'it has ended'
      if (unanswered.size > 0) return 'its borrower left in the middle of a call'
      const answer = new Promise<Record<string, unknown>>(resolve => {
        onAnswer = json => resolve(json)
      })
      writeMessage(driver.requests, { id: RESET, op: 'reset' }, [])
      const json = await Promise.race([answer, driver.ended.then(error => ({ error }))])
      onAnswer = undefined
      return json.error === undefined ? undefined : String(json.error)
    },
    stop: async () => {
      await driver.close()
      await server.stop()
    },
  }
}

interface Loan {
  shared: SharedKafkaServer
  /** Of the processes that work for the borrower. */
  pids: number[]
}

const LOAN = 0
const RESET = -1

/** A server with a driver from the lender of `make e2e`. Both are given back when the driver is closed, or with the process. */
export async function borrowKafka(socket: string): Promise<{ server: SharedKafkaServer; driver: KafkaDriver }> {
  const pipe = connect(socket)
  const ended = new Promise<string>(resolve => {
    pipe.once('close', () => resolve('the lender has ended the loan'))
  })
  const { shared: server, pids } = await new Promise<Loan>((resolve, reject) => {
    void ended.then(reason => reject(new Error(reason)))
    pipe.on('error', reject)
    onMessage(pipe, ({ json }) => {
      if (json.id === LOAN) resolve(json.result as Loan)
    })
  })
  const stopCounting = countCpuOf(pids)
  pipe.removeAllListeners('data')
  const close = async () => {
    stopCounting()
    pipe.ref()
    pipe.end()
    await ended
  }
  return { server, driver: driveOver({ call: callOver({ requests: pipe, answers: pipe, ended }), close }) }
}

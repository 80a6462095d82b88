import { createRandom } from '../fakes/faulty-storage.ts'
import { type KafkaProxy, openKafkaProxy, type PassingRequest } from '../fakes/kafka-proxy.ts'
import type { Ended, Running } from './command.ts'
import { Count, type Fault, type FaultOptions, type Outcome } from './fault.ts'
import type { Lab } from './lab.ts'
import {
  compareTarget,
  dropTarget,
  makeTarget,
  type RestoreSubject,
  restoreSubject,
  runRestore,
  startRestore,
  type Target,
} from './restore-lab.ts'

export const restoreKilledAtRequests: Fault = {
  name: 'a restore is killed at a request',
  inject:
    'SIGKILL at a request to the broker, a random one of a run, before it left or before its answer came; then again',
  promise: 'at the end every record exists once, and every topic has its settings',
  rounds: { test: 2, soak: 60 },
  run: (lab, options) => withRequests(lab, options, killAtRequest),
}

export const restoreAnswersLost: Fault = {
  name: 'the answer to a request of a restore is lost',
  inject: 'a tenth of all requests of a restore reach the broker, and the connection breaks before the answer',
  promise: 'the same run continues and succeeds; every record exists once',
  rounds: { test: 10, soak: 400 },
  run: (lab, options) => withRequests(lab, options, loseAnswers),
}

export const restoreLateRequests: Fault = {
  name: 'a request of a dead restore arrives late',
  inject:
    'a write is delayed on its way, its process gets SIGKILL, and it reaches the broker at a random moment of the next run',
  promise: 'the broker or the next run recognizes it: every record exists once',
  rounds: { test: 1, soak: 60 },
  run: (lab, options) => withRequests(lab, options, deliverLate),
}

export const restoreLateAfterRestart: Fault = {
  name: 'a request of a dead restore arrives late at a broker that was restarted',
  inject: 'the same, and the broker, which forgets the producers of old records, is killed and started in between',
  promise: 'the broker or the next run recognizes it: every record exists once',
  rounds: { test: 1, soak: 8 },
  run: (lab, options) => withRequests(lab, options, (trial, count) => deliverLate(trial, count, restartBroker)),
}

const PRODUCE = 0

interface Trial {
  lab: Lab
  subject: RestoreSubject
  proxy: KafkaProxy
  random: () => number
  target: Target
  /** The kinds of all requests of a run that nothing happens to, in their order. */
  kinds: readonly number[]
}

type Experiment = (trial: Trial, count: Count) => Promise<void>

async function withRequests(lab: Lab, { rounds, seed }: FaultOptions, experiment: Experiment): Promise<Outcome> {
  const random = createRandom(seed)
  const count = new Count('lost', 'duplicated', 'wrong', 'other settings', 'other exit codes')
  const subject = await restoreSubject(lab)
  const [ports] = lab.server.proxiedPorts
  if (!ports) throw new Error('the broker of the lab has a listener for a proxy')
  await using proxy = await openKafkaProxy({ targetPort: ports.port, port: ports.advertisedPort })
  const newTarget = () => makeTarget(lab, subject, { plainServers: [`127.0.0.1:${proxy.port}`] })
  const kinds = kindsOfRun.get(lab) ?? (await observeRun(lab, await newTarget(), proxy, count))
  kindsOfRun.set(lab, kinds)
  while (count.injected < rounds) {
    proxy.requests = 0
    proxy.decide = () => 'pass'
    const target = await newTarget()
    await experiment({ lab, subject, proxy, random, target, kinds }, count)
    proxy.decide = () => 'pass'
    count.add(await compareTarget(lab, subject, target))
    await dropTarget(lab, target)
  }
  return count.outcome
}

const kindsOfRun = new WeakMap<Lab, readonly number[]>()

/** The kinds of the requests of a run that nothing happens to. */
async function observeRun(lab: Lab, target: Target, proxy: KafkaProxy, count: Count): Promise<number[]> {
  const kinds: number[] = []
  proxy.decide = ({ apiKey }) => {
    kinds.push(apiKey)
    return 'pass'
  }
  expectSuccess(await runRestore(target), count)
  await dropTarget(lab, target)
  return kinds
}

async function killAtRequest({ proxy, random, target, kinds }: Trial, count: Count): Promise<void> {
  const nth = pickRequest(kinds, random)
  const isBefore = random() < 0.5
  let restore: Running | undefined
  proxy.decide = request => {
    if (request.nth !== nth) return request.nth > nth ? 'hold' : 'pass'
    restore?.send('SIGKILL')
    count.saw(kindOf(request))
    return isBefore ? 'hold' : 'deafen'
  }
  restore = startRestore(target)
  const { code } = await restore.ended
  if (code === null) count.injected++
  proxy.decide = () => 'pass'
  expectSuccess(await runRestore(target), count)
}

/** Each kind has the same chance, or almost all would be writes. */
function pickRequest(kinds: readonly number[], random: () => number): number {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
  const kind = pick([...new Set(kinds)])
  return 1 + pick(kinds.flatMap((one, at) => (one === kind ? [at] : [])))
}

async function loseAnswers({ proxy, random, target }: Trial, count: Count): Promise<void> {
  proxy.decide = request => {
    if (random() >= 0.1) return 'pass'
    count.injected++
    count.saw(kindOf(request))
    return 'deafen'
  }
  expectSuccess(await runRestore(target), count)
}

async function deliverLate(
  trial: Trial,
  count: Count,
  meanwhile: (lab: Lab) => Promise<void> = async () => undefined,
): Promise<void> {
  const { lab, proxy, random, target, kinds } = trial
  await holdAndKill(trial)
  await meanwhile(lab)
  const late = Math.floor(random() * 1.2 * kinds.length)
  proxy.requests = 0
  const release = async (when: string) => {
    if (!proxy.isHolding) return
    await proxy.release()
    count.injected++
    count.saw(when)
  }
  proxy.decide = async (request): Promise<'pass'> => {
    if (request.nth === late) await release(`before a ${kindOf(request)} of the next run`)
    return 'pass'
  }
  expectSuccess(await runRestore(target), count)
  await release('after the end of the next run')
}

/** Ends a run whose nth write is still on its way. */
async function holdAndKill({ proxy, random, target }: Trial): Promise<void> {
  let writes = 1 + Math.floor(random() * 25)
  let restore: Running | undefined
  let isHeld = false
  proxy.decide = ({ apiKey }) => {
    if (isHeld) return 'hold'
    if (apiKey !== PRODUCE || --writes > 0) return 'pass'
    isHeld = true
    restore?.send('SIGKILL')
    return 'hold'
  }
  restore = startRestore(target)
  await restore.ended
}

async function restartBroker({ server }: Lab): Promise<void> {
  await server.killBroker(0)
  await server.startBroker(0)
}

function expectSuccess({ code, stderr }: Ended, count: Count): void {
  if (code === 0) return
  process.stderr.write(stderr)
  count.add({ 'other exit codes': 1 })
}

const names: Record<number, string> = {
  0: 'Produce',
  1: 'Fetch',
  2: 'ListOffsets',
  3: 'Metadata',
  8: 'OffsetCommit',
  9: 'OffsetFetch',
  10: 'FindCoordinator',
  17: 'SaslHandshake',
  18: 'ApiVersions',
  19: 'CreateTopics',
  22: 'InitProducerId',
  32: 'DescribeConfigs',
  44: 'IncrementalAlterConfigs',
}

function kindOf({ apiKey }: PassingRequest): string {
  return names[apiKey] ?? `request ${apiKey}`
}

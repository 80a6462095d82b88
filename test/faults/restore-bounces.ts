import { setTimeout as sleep } from 'node:timers/promises'
import { createRandom } from '../fakes/faulty-storage.ts'
import { Count, type Fault, type FaultOptions, type Outcome } from './fault.ts'
import type { Lab } from './lab.ts'
import { compareTarget, dropTarget, makeTarget, restoreSubject, startRestore, type Target } from './restore-lab.ts'

export const restoreBrokerKilled: Fault = {
  name: 'a broker is killed under a restore',
  inject:
    'SIGKILL to a broker while the restore writes to it; of three the leaders are moved before; the broker comes back',
  promise: 'the same run continues and succeeds; every record exists once',
  rounds: { test: 1, soak: 5 },
  run: bounce,
}

async function bounce(lab: Lab, { rounds, seed }: FaultOptions): Promise<Outcome> {
  const random = createRandom(seed)
  const count = new Count('failed runs', 'lost', 'duplicated', 'wrong', 'other settings')
  const subject = await restoreSubject(lab)
  const brokers = lab.server.bootstrapServers.length
  while (count.injected < rounds) {
    const target = await makeTarget(lab, subject, { restore: { rate_limit: '400KiB' } })
    const restore = startRestore(target)
    await restore.speaks
    if (brokers > 1) await moveLeaders(lab, target, brokers)
    await sleep(random() * 2000)
    const isOver = await Promise.race([restore.ended.then(() => true), sleep(0).then(() => false)])
    if (!isOver) {
      const broker = Math.floor(random() * brokers)
      await lab.server.killBroker(broker)
      await lab.server.startBroker(broker)
      count.injected++
    }
    const { code, stderr } = await restore.ended
    count.saw(isOver ? 'finished before it' : 'continued')
    if (code !== 0) process.stderr.write(stderr)
    count.add({ 'failed runs': code === 0 ? 0 : 1, ...(await compareTarget(lab, subject, target)) })
    await dropTarget(lab, target)
  }
  return count.outcome
}

async function moveLeaders({ driver }: Lab, { names }: Target, brokers: number): Promise<void> {
  const topic = names.get('restore-old') ?? ''
  const { partitions } = await driver.describeTopic(topic)
  for (const [partition, { leader }] of partitions.entries()) {
    await driver.moveLeader(topic, partition, (leader % brokers) + 1)
  }
}

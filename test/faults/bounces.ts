import { setTimeout as sleep } from 'node:timers/promises'
import { createRandom } from '../fakes/faulty-storage.ts'
import { startBackup } from './command.ts'
import { compare } from './examine.ts'
import { Count, type Fault, type FaultOptions, type Outcome } from './fault.ts'
import { emptyStore, type Lab, makePlace, prepareSubject } from './lab.ts'

export const brokerKilled: Fault = {
  name: 'a broker is killed',
  inject: 'SIGKILL to a broker while the command reads from it; the broker comes back',
  promise: 'the same run continues and succeeds; every record exists once',
  rounds: { test: 1, soak: 6 },
  run: bounce,
}

/** With one broker everything waits for it; with three the others take over. */
async function bounce(lab: Lab, { rounds, seed }: FaultOptions): Promise<Outcome> {
  const random = createRandom(seed)
  const count = new Count('failed runs', 'lost', 'duplicated', 'wrong')
  const subject = await prepareSubject(lab, { partitions: 6, records: 60_000, valueBytes: 1000 })
  const brokers = lab.server.bootstrapServers.length
  while (count.injected < rounds) {
    const place = await makePlace(lab, subject.topic)
    const backup = startBackup(place.config)
    const broker = Math.floor(random() * brokers)
    await backup.speaks
    await sleep(random() * 200)
    const isOver = await Promise.race([backup.ended.then(() => true), sleep(0).then(() => false)])
    if (!isOver) {
      await lab.server.killBroker(broker)
      await lab.server.startBroker(broker)
      count.injected++
    }
    const { code, stderr } = await backup.ended
    count.saw(isOver ? 'finished before it' : 'continued')
    if (code !== 0) process.stderr.write(stderr)
    count.add({ 'failed runs': code === 0 ? 0 : 1 })
    if (code === 0) count.add({ ...(await compare(place, subject)) })
    await emptyStore(place)
  }
  return count.outcome
}

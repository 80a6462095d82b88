import type { KafkaBackupError } from '../errors.ts'
import { consumerGroupDescribe } from './api/consumer-group-describe.ts'
import { type DescribedGroup, describeGroups } from './api/describe-groups.ts'
import { type AskCoordinator, atCoordinators, type ByGroup } from './at-coordinators.ts'
import { brokerError } from './broker-errors.ts'
import type { BrokerLink } from './broker-link.ts'
import type { Cluster } from './cluster.ts'

export interface GroupState {
  /** `absent` is a group that does not exist, or one of a kind that commits no offsets. */
  type: 'classic' | 'consumer' | 'absent'
  /** The broker's own word: `Stable`, `Empty`, …; `Dead` where there is none. */
  state: string
  members: number
}

const UNSUPPORTED_VERSION = 35
const GROUP_ID_NOT_FOUND = 69
const ABSENT: GroupState = { type: 'absent', state: 'Dead', members: 0 }

/** State and members of each group; what could not be read is the error of its group. */
export function describeGroupStates(
  cluster: Cluster,
  groups: readonly string[],
  signal: AbortSignal,
): Promise<ByGroup<GroupState>> {
  const ask: AskCoordinator<GroupState> = async (link, some) => {
    const modern = await describeModern(link, some, signal)
    const others = some.filter(group => !modern.has(group))
    return others.length === 0 ? modern : new Map([...modern, ...(await describeClassic(link, others, signal))])
  }
  return atCoordinators(cluster, groups, ask, signal)
}

/** Of the protocol of KIP-848 alone; a broker answers for all others that it does not find them. */
async function describeModern(
  link: BrokerLink,
  groups: readonly string[],
  signal: AbortSignal,
): Promise<ByGroup<GroupState>> {
  const states: ByGroup<GroupState> = new Map()
  if (!link.speaks(consumerGroupDescribe)) return states
  for (const one of await link.call(consumerGroupDescribe, { groups: [...groups] }, signal)) {
    const { errorCode, errorMessage, group, state, members } = one
    if (errorCode === 0) states.set(group, { type: 'consumer', state, members })
    else if (errorCode !== GROUP_ID_NOT_FOUND && errorCode !== UNSUPPORTED_VERSION) {
      states.set(group, brokerError(errorCode, `describing group ${group}`, errorMessage))
    }
  }
  return states
}

async function describeClassic(
  link: BrokerLink,
  groups: readonly string[],
  signal: AbortSignal,
): Promise<ByGroup<GroupState>> {
  const answers = await link.call(describeGroups, { groups: [...groups] }, signal)
  return new Map(answers.map(one => [one.group, readClassic(one)]))
}

function readClassic({ errorCode, group, state, members }: DescribedGroup): GroupState | KafkaBackupError {
  if (errorCode === GROUP_ID_NOT_FOUND) return ABSENT
  if (errorCode !== 0) return brokerError(errorCode, `describing group ${group}`)
  return state === 'Dead' ? ABSENT : { type: 'classic', state, members }
}

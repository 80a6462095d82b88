import type { KafkaBackupError } from '../errors.ts'
import { consumerGroupDescribe, type DescribedConsumerGroup } from './api/consumer-group-describe.ts'
import { type DescribedGroup, describeGroups } from './api/describe-groups.ts'
import { streamsGroupDescribe } from './api/streams-group-describe.ts'
import { type AskCoordinator, atCoordinators, type ByGroup } from './at-coordinators.ts'
import { brokerError } from './broker-errors.ts'
import type { BrokerLink } from './broker-link.ts'
import type { Cluster } from './cluster.ts'
import type { CommittingType } from './list-groups.ts'
import type { Api } from './wire/api.ts'

export interface GroupState {
  /** `absent` is a group that does not exist, or one of a kind that commits no offsets. */
  type: CommittingType | 'absent'
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
    const states: ByGroup<GroupState> = new Map()
    const rest = () => some.filter(group => !states.has(group))
    await describeModern(link, consumerGroupDescribe, 'consumer', rest(), states, signal)
    await describeModern(link, streamsGroupDescribe, 'streams', rest(), states, signal)
    await describeClassic(link, rest(), states, signal)
    return states
  }
  return atCoordinators(cluster, groups, ask, signal)
}

/** Of one protocol alone; a broker answers for all others that it does not find them. */
async function describeModern(
  link: BrokerLink,
  api: Api<{ groups: string[] }, DescribedConsumerGroup[]>,
  type: CommittingType,
  groups: readonly string[],
  states: ByGroup<GroupState>,
  signal: AbortSignal,
): Promise<void> {
  if (groups.length === 0 || !link.speaks(api)) return
  for (const one of await link.call(api, { groups: [...groups] }, signal)) {
    const { errorCode, errorMessage, group, state, members } = one
    if (errorCode === 0) states.set(group, { type, state, members })
    else if (errorCode !== GROUP_ID_NOT_FOUND && errorCode !== UNSUPPORTED_VERSION) {
      states.set(group, brokerError(errorCode, `describing group ${group}`, errorMessage))
    }
  }
}

async function describeClassic(
  link: BrokerLink,
  groups: readonly string[],
  states: ByGroup<GroupState>,
  signal: AbortSignal,
): Promise<void> {
  if (groups.length === 0) return
  const answers = await link.call(describeGroups, { groups: [...groups] }, signal)
  for (const one of answers) states.set(one.group, readClassic(one))
}

function readClassic({ errorCode, group, state, members }: DescribedGroup): GroupState | KafkaBackupError {
  if (errorCode === GROUP_ID_NOT_FOUND) return ABSENT
  if (errorCode !== 0) return brokerError(errorCode, `describing group ${group}`)
  return state === 'Dead' ? ABSENT : { type: 'classic', state, members }
}

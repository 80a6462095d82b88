import type { Condition } from './kube-object.ts'
import type { Container, ContainerState, ContainerStatus, Pod, PodStatus } from './kubelet-pod-spec.ts'

/** What became of one container so far. */
export interface ContainerRecord {
  container: Container
  state: ContainerState
  /** What its readiness probe found last; undefined without one. */
  isProbedReady?: boolean
}

export interface PodRecord {
  containers: ContainerRecord[]
  startTime: string
  podIp: string
  /** After its end or its deletion no container starts. */
  stopped: boolean
}

export function newRecord(container: Container): ContainerRecord {
  return { container, state: { waiting: { reason: 'ContainerCreating' } } }
}

/** The status that a kubelet reports for it. The conditions that others wrote are kept. */
export function formatPodStatus(pod: Pod, record: PodRecord, now: string): PodStatus {
  const phase = phaseOf(record)
  const done = phase === 'Succeeded' || phase === 'Failed'
  const ready = !done && record.containers.every(isReady)
  const reason = phase === 'Succeeded' ? 'PodCompleted' : phase === 'Failed' ? 'PodFailed' : 'ContainersNotReady'
  const previous = pod.status?.conditions ?? []
  const conditions = [
    newCondition('PodReadyToStartContainers', !done, undefined, previous, now),
    newCondition('Initialized', true, undefined, previous, now),
    newCondition('Ready', ready, ready ? undefined : reason, previous, now),
    newCondition('ContainersReady', ready, ready ? undefined : reason, previous, now),
  ]
  const own = new Set(conditions.map(({ type }) => type))
  return {
    phase,
    conditions: [...previous.filter(({ type }) => !own.has(type)), ...conditions],
    hostIP: '127.0.0.1',
    podIP: record.podIp,
    podIPs: [{ ip: record.podIp }],
    startTime: record.startTime,
    containerStatuses: record.containers.map(formatContainer),
  }
}

function phaseOf({ containers, stopped }: PodRecord): NonNullable<PodStatus['phase']> {
  if (containers.some(({ state }) => state.running !== undefined)) return 'Running'
  if (containers.some(({ state }) => state.waiting !== undefined)) return stopped ? 'Failed' : 'Pending'
  return containers.every(({ state }) => state.terminated?.exitCode === 0) ? 'Succeeded' : 'Failed'
}

function isReady({ state, isProbedReady = true }: ContainerRecord): boolean {
  return state.running !== undefined && isProbedReady
}

function formatContainer(record: ContainerRecord): ContainerStatus {
  return {
    name: record.container.name,
    image: record.container.image,
    imageID: record.container.image,
    ready: isReady(record),
    started: record.state.running !== undefined,
    restartCount: 0,
    state: record.state,
  }
}

function newCondition(
  type: string,
  isTrue: boolean,
  reason: string | undefined,
  previous: readonly Condition[],
  now: string,
): Condition {
  const status = isTrue ? 'True' : 'False'
  const before = previous.find(condition => condition.type === type)
  const since = before?.status === status ? before.lastTransitionTime : undefined
  return { type, status, lastTransitionTime: since ?? now, ...(reason ? { reason } : {}) }
}

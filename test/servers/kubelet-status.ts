import type { Condition } from './kube-object.ts'
import type { Container, ContainerState, ContainerStatus, Pod, PodStatus } from './kubelet-pod-spec.ts'

/** What became of one container so far. */
export interface ContainerRecord {
  container: Container
  state: ContainerState
  lastState?: ContainerState
  restarts: number
  /** What its readiness probe found last; undefined without one. */
  isProbedReady?: boolean
}

export interface PodRecord {
  init: ContainerRecord[]
  main: ContainerRecord[]
  startTime: string
  podIp: string
  /** After its end or its deletion no container starts again. */
  stopped: boolean
}

export function newRecord(container: Container, reason: string): ContainerRecord {
  return { container, state: { waiting: { reason } }, restarts: 0 }
}

/** The status that a kubelet reports for it. The conditions that others wrote are kept. */
export function formatPodStatus(pod: Pod, record: PodRecord, now: string): PodStatus {
  const phase = phaseOf(pod, record)
  const done = phase === 'Succeeded' || phase === 'Failed'
  const initialized = record.init.every(hasSucceeded)
  const ready = !done && record.main.every(isReady)
  const reason = phase === 'Succeeded' ? 'PodCompleted' : phase === 'Failed' ? 'PodFailed' : 'ContainersNotReady'
  const previous = pod.status?.conditions ?? []
  const conditions = [
    newCondition('PodReadyToStartContainers', !done, undefined, previous, now),
    newCondition('Initialized', initialized, initialized ? undefined : 'ContainersNotInitialized', previous, now),
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
    ...(record.init.length > 0 ? { initContainerStatuses: record.init.map(each => formatContainer(each, true)) } : {}),
    containerStatuses: record.main.map(each => formatContainer(each, false)),
  }
}

function phaseOf(pod: Pod, { init, main, stopped }: PodRecord): NonNullable<PodStatus['phase']> {
  const policy = pod.spec.restartPolicy ?? 'Always'
  const final = policy === 'Never' || stopped
  if (final && init.some(hasFailed)) return 'Failed'
  if (!init.every(hasSucceeded)) return stopped ? 'Failed' : 'Pending'
  if (main.some(({ state }) => state.running !== undefined)) return 'Running'
  if (main.some(isUnstarted)) return stopped ? 'Failed' : 'Pending'
  if (main.some(({ state }) => state.terminated === undefined)) return 'Running'
  if (main.every(hasSucceeded)) return policy === 'Always' && !stopped ? 'Running' : 'Succeeded'
  return final ? 'Failed' : 'Running'
}

export function hasSucceeded({ state }: ContainerRecord): boolean {
  return state.terminated?.exitCode === 0
}

function isReady({ state, isProbedReady = true }: ContainerRecord): boolean {
  return state.running !== undefined && isProbedReady
}

function hasFailed({ state }: ContainerRecord): boolean {
  return state.terminated !== undefined && state.terminated.exitCode !== 0
}

/** It waits, and not for another start. */
function isUnstarted({ state, lastState }: ContainerRecord): boolean {
  return state.waiting !== undefined && lastState === undefined
}

function formatContainer(record: ContainerRecord, isInit: boolean): ContainerStatus {
  const running = record.state.running !== undefined
  return {
    name: record.container.name,
    image: record.container.image,
    imageID: record.container.image,
    ready: isInit ? hasSucceeded(record) : isReady(record),
    started: running,
    restartCount: record.restarts,
    state: record.state,
    ...(record.lastState ? { lastState: record.lastState } : {}),
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

import { hasCode, toKafkaBackupError } from '../../errors.ts'
import { resourceKinds } from '../crd/resource.ts'
import type { KubeApi } from '../kube/kube-api.ts'
import { runLeader } from '../leader/run-leader.ts'
import { ClusterView, type OnReadable } from './cluster-view.ts'
import { writeWithOlderDefinitions } from './older-definitions.ts'
import type { OperatorOptions, OperatorParts } from './operator-options.ts'
import { openLevels } from './repeated-warnings.ts'
import { Term } from './term.ts'

const leaderLoop = 'the leader election'
/** Of a request of the election, which is made every two seconds. */
const MAX_LEADER_PAUSE_MS = 60_000

/**
 * Runs until the signal: watches on every replica, works on the one that leads. The lease is released at the end.
 * No response of the API server ends it.
 */
export async function runOperator(options: OperatorOptions, given: OperatorParts, signal: AbortSignal): Promise<void> {
  const parts = { ...given, api: writeWithOlderDefinitions(given) }
  const { health, observer } = parts
  const over = new AbortController()
  const both = AbortSignal.any([signal, over.signal])
  const view = new ClusterView(options, parts, failureLog(parts, options), readableLog(parts))
  health.watches(view)
  observer.leads(false)
  const watching = view.run(both)
  try {
    await view.waitServed(both)
    await leadAndWork(options, parts, view, both)
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    over.abort()
    await watching
    health.left(leaderLoop)
  }
}

async function leadAndWork(
  options: OperatorOptions,
  parts: OperatorParts,
  view: ClusterView,
  signal: AbortSignal,
): Promise<void> {
  const { clock, random, log, health } = parts
  const { lease, identity } = options
  const work = (leading: AbortSignal) => new Term(options, parts, view).run(leading)
  if (lease === undefined) {
    reportLeadership(parts, true)
    return work(signal).finally(() => reportLeadership(parts, false))
  }
  const levelOf = openLevels(clock)
  const onFailure = (error: unknown) => {
    health.electionFailed(error)
    const text = `the lease: ${toKafkaBackupError(error).message}`
    log.write(levelOf('lease', text), text, { ...lease })
  }
  const onChange = (isLeader: boolean) => reportLeadership(parts, isLeader)
  const api = withHeartbeat(parts)
  await runLeader({ api, clock, random, lease, identity, onChange, onFailure }, work, signal)
}

function reportLeadership({ health, observer, log }: OperatorParts, isLeader: boolean): void {
  health.isLeader = isLeader
  observer.leads(isLeader)
  log.write('info', isLeader ? 'this process is the leader' : 'this process is no longer the leader')
}

/** Each request of the election counts as a sign of life. */
function withHeartbeat({ api, health }: OperatorParts): KubeApi {
  const beat = () => health.turned(leaderLoop, MAX_LEADER_PAUSE_MS)
  beat()
  return {
    ...api,
    get: (...args) => {
      beat()
      return api.get(...args)
    },
    create: (...args) => {
      beat()
      return api.create(...args)
    },
    replace: (...args) => {
      beat()
      return api.replace(...args)
    },
  }
}

function failureLog({ log, clock }: OperatorParts, { apiGroup }: OperatorOptions) {
  const levelOf = openLevels(clock)
  return (watch: string, error: unknown, delayMs: number) => {
    const isKind = watch.includes(apiGroup)
    const reason =
      isKind && hasCode(error, 'KUBE_NOT_FOUND') ? missing(watch, apiGroup) : toKafkaBackupError(error).message
    const isStorage = watch.startsWith(resourceKinds(apiGroup).storage.plural)
    const text = isStorage
      ? `${reason}; meanwhile only resources without storageRef, or with a storage that was read before, are served`
      : reason
    log.write(levelOf(watch, text), text, { watch, again_in_seconds: Math.ceil(delayMs / 1000) })
  }
}

function readableLog({ log, observer }: OperatorParts): OnReadable {
  return (namespace = '*', isReadable) => {
    observer.namespaceReadable(namespace, isReadable)
    // Failures are logged by their watch.
    if (isReadable) log.write('info', 'resources, Jobs and pods are in sync', { namespace })
  }
}

function missing(watch: string, apiGroup: string): string {
  const option = apiGroup === '' ? '' : ` --api-group ${apiGroup}`
  return `the API server does not know ${watch.split(' ')[0]}: install the CustomResourceDefinitions, as with \`kafka-backup crds${option} | kubectl apply --server-side -f -\``
}

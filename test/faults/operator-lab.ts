import { defaultApiGroup, type ResourceSpec } from '../../src/operator/crd/resource.ts'
import type { KubeWrite } from '../servers/kube-fault-proxy.ts'
import type { KubeObject, ObjectRef } from '../servers/kube-object.ts'
import type { KubeletImage } from '../servers/kubelet-images.ts'
import type { Operator } from '../servers/operator.ts'
import { type OperatorStage, openOperatorStage } from '../servers/operator-stage.ts'

/** The operator's world with Jobs that only say that they have done something, so that a run takes a second. */
export interface OperatorLab {
  stage: OperatorStage
  /** Through the proxy, without a lease to wait for. */
  startAlone(): Promise<Operator>
  /** All Jobs that were ever made, by the name of the resource; each as `run/stage`. */
  jobsOf(resource: string): string[]
  stop(): Promise<void>
}

export const RECORDS = 7

const result = {
  ...{ ok: true, command: 'backup', exit: 0, code: null, message: null, help: null, retryable: false },
  totals: { records: RECORDS, bytes: 700, topics: 1, partitions: 1, stored_bytes: 900, backup: { stored_bytes: 900 } },
  ...{ backup_id: 'b', generation: 1, warnings: 0, gaps: 0, report: null },
  ...{ started_at: '2026-01-31T08:00:00.000Z', finished_at: '2026-01-31T08:00:01.000Z' },
}

const quickImage: KubeletImage = {
  entrypoint: ['/bin/sh', '-c', `printf %s '${JSON.stringify(result)}' > "$KAFKA_BACKUP_RESULT_FILE"`],
  user: 65_532,
}

export async function openOperatorLab(): Promise<OperatorLab> {
  const stage = await openOperatorStage({ image: quickImage })
  await stage.volume('backups')
  const stopping = new AbortController()
  const made = new Map<string, Map<string, string>>()
  const remember = ({ metadata }: KubeObject) => {
    const owner = metadata.ownerReferences?.[0]?.name ?? ''
    const { [`${defaultApiGroup}/run`]: run, [`${defaultApiGroup}/stage`]: part } = metadata.annotations ?? {}
    const known = made.get(owner) ?? new Map<string, string>()
    made.set(owner, known.set(metadata.uid ?? '', `${run}/${part}`))
  }
  const { api } = stage.kube
  const jobs = { apiVersion: 'batch/v1', kind: 'Job', namespace: stage.namespace }
  const watching = api.watch(jobs, {}, ({ object }) => remember(object), stopping.signal)
  return {
    stage,
    startAlone: () => stage.start({ throughProxy: true, flags: ['--no-leader-elect'] }),
    jobsOf: resource => [...(made.get(resource)?.values() ?? [])].sort(),
    stop: async () => {
      stopping.abort()
      await watching
      await stage.stop()
    },
  }
}

export const plainSpec: ResourceSpec = {
  kafkaCluster: { bootstrapServers: ['127.0.0.1:9092'] },
  topics: { include: ['t'] },
  storage: { backend: 'pvc', pvc: { claimName: 'backups' } },
}

/** Names that no other resource's name begins with, and that stand out in paths and bodies. */
export function nameOf(round: number, what: string): string {
  return `f${round}x${what}`
}

/** The resource that a write is about. */
export function subjectOf({ path, body }: KubeWrite): string | undefined {
  return /\bf\d+x[a-z]+\b/.exec(`${path} ${body}`)?.[0]
}

/** Gives each write its number among those of the same resource. */
export function countWrites(): (write: KubeWrite) => { subject: string; nth: number } {
  const counts = new Map<string, number>()
  return write => {
    const subject = subjectOf(write) ?? ''
    const nth = (counts.get(subject) ?? 0) + 1
    counts.set(subject, nth)
    return { subject, nth }
  }
}

/** What is left in the namespace of what a resource owned. */
export async function leftOf({ kube, namespace }: OperatorStage, { name }: ObjectRef): Promise<string[]> {
  const kinds = [
    { apiVersion: 'batch/v1', kind: 'Job', namespace },
    { apiVersion: 'v1', kind: 'ConfigMap', namespace },
    { apiVersion: 'v1', kind: 'Pod', namespace },
  ]
  const objects = (await Promise.all(kinds.map(kind => kube.api.list(kind)))).flat()
  return objects
    .filter(({ metadata }) => metadata.name?.startsWith(`${name}-`))
    .map(({ kind, metadata }) => `${kind} ${metadata.name}`)
}

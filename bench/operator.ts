import { readFile } from 'node:fs/promises'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { runPool } from '../src/lib/pool.ts'
import { resourceKinds } from '../src/operator/crd/resource.ts'
import type { ChartValues } from '../test/servers/chart.ts'
import { startKube } from '../test/servers/kube.ts'
import { startKubeFaultProxy } from '../test/servers/kube-fault-proxy.ts'
import type { KubeObject } from '../test/servers/kube-object.ts'
import { type Operator, startOperator } from '../test/servers/operator.ts'
import { installOperatorAccess, operatorDefinitions } from '../test/servers/operator-access.ts'
import type { Row } from './row.ts'

const NAMESPACES = 100
const PER_NAMESPACE = 10
const REST_MINUTES = 10
/** Five of the operator, Jobs and pods. */
const KINDS = 7
/** The memory limit of the chart. */
const LIMIT_MB = 512
const timeoutMs = 5 * 60_000

const names = Array.from({ length: NAMESPACES }, (_, at) => `team-${String(at).padStart(3, '0')}`)

/**
 * One operator for 1,000 scheduled backups in 100 namespaces on a real API server: once for the whole cluster, once for the namespaces by
 * name. Nothing is due, so after the start it is at rest. Both are at rest at the same time, each with an API server of its own.
 */
export async function measureOperator(say: (text: string) => void): Promise<Row[]> {
  const modes: [name: string, values: ChartValues, watches: number][] = [
    ['clusterWide', { clusterWide: true }, KINDS],
    ['100 watchNamespaces', { watchNamespaces: names }, KINDS * NAMESPACES],
  ]
  await using stack = new AsyncDisposableStack()
  const worlds: Awaited<ReturnType<typeof startWorld>>[] = []
  for (const [name, values] of modes) {
    say(`${NAMESPACES * PER_NAMESPACE} resources in ${NAMESPACES} namespaces, ${name}`)
    worlds.push(await startWorld(stack, values))
  }
  say(`${REST_MINUTES} minutes at rest`)
  for (const { proxy } of worlds) proxy.requests.length = 0
  await sleep(REST_MINUTES * 60_000)
  const rows = modes.map(([name, , watches], at) => {
    const world = worlds[at]
    if (world === undefined) throw new Error(`${name} was not started`)
    return rowsOf(name, watches, world)
  })
  return (await Promise.all(rows)).flat()
}

type World = Awaited<ReturnType<typeof startWorld>>

async function startWorld(stack: AsyncDisposableStack, values: ChartValues) {
  const kube = await startKube({ manifests: operatorDefinitions() })
  stack.defer(() => kube.stop())
  const { api } = kube
  await runPool(names, 8, async name => {
    await api.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
    for (let at = 0; at < PER_NAMESPACE; at++) await api.create(backupOf(name, `backup-${at}`))
  })
  const home = await kube.makeNamespace('operator')
  const { account, args } = await installOperatorAccess(kube, home, values)
  const proxy = await startKubeFaultProxy(kube)
  stack.defer(() => proxy.stop())
  const credentials = proxy.through(await kube.credentialsFor(account))
  const began = performance.now()
  const operator = stack.use(await startOperator({ credentials, namespace: home, args }))
  await until('it leads', async () => (await operator.sample('kafka_backup_operator_leader').catch(() => 0)) === 1)
  const leadMs = performance.now() - began
  const { apiVersion, kind } = resourceKinds().backup
  const isSeen = ({ status }: KubeObject) =>
    (status as { observedGeneration?: number } | undefined)?.observedGeneration === 1
  await until('all are reconciled', async () => {
    await sleep(500)
    return (await api.list({ apiVersion, kind })).every(isSeen)
  })
  const reconciledMs = performance.now() - began
  return { proxy, operator, leadMs, reconciledMs, startRequests: proxy.requests.length }
}

/** Its next run is far away. */
function backupOf(namespace: string, name: string): KubeObject {
  const { apiVersion, kind } = resourceKinds().backup
  const spec = {
    schedule: '0 0 1 1 *',
    kafkaCluster: { bootstrapServers: ['kafka:9092'] },
    topics: { include: ['*'] },
    storage: { backend: 'pvc', pvc: { claimName: 'backups' } },
  }
  return { apiVersion, kind, metadata: { namespace, name }, spec }
}

async function rowsOf(mode: string, watches: number, world: World): Promise<Row[]> {
  const { proxy, operator, leadMs, reconciledMs, startRequests } = world
  const { requests, openWatches } = proxy
  const of = (isIt: (path: string) => boolean) => requests.filter(({ path }) => isIt(path)).length
  const isWatch = (path: string) => /[?&]watch=true/.test(path)
  const isLease = (path: string) => path.includes('/leases/')
  const [watched, leases] = [of(isWatch), of(isLease)]
  const detail = { namespaces: NAMESPACES, resources: NAMESPACES * PER_NAMESPACE, rest_minutes: REST_MINUTES }
  const name = `${detail.resources.toLocaleString('en')} resources in ${NAMESPACES} namespaces, ${mode}`
  const perMinute = (count: number) => count / REST_MINUTES
  const { restBytes, peakBytes } = await memoryOf(operator)
  return [
    { name, measure: 'open watches', value: openWatches, unit: 'requests', limit: watches, detail },
    { name, measure: 'time to lead', value: leadMs / 1000, unit: 's', detail },
    { name, measure: 'time until all are reconciled', value: reconciledMs / 1000, unit: 's', detail },
    { name, measure: 'API requests until then', value: startRequests, unit: 'requests', detail },
    { name, measure: 'API requests per minute at rest', value: perMinute(requests.length), unit: 'requests', detail },
    { name, measure: 'of these, renewals of the Lease', value: perMinute(leases), unit: 'requests', detail },
    { name, measure: 'of these, watches that start again', value: perMinute(watched), unit: 'requests', detail },
    { name, measure: 'memory at rest', value: restBytes / 1e6, unit: 'MB', limit: LIMIT_MB, detail },
    { name, measure: 'peak memory', value: peakBytes / 1e6, unit: 'MB', limit: LIMIT_MB, detail },
  ]
}

async function memoryOf({ pid }: Operator): Promise<{ restBytes: number; peakBytes: number }> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  const of = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) * 1024
  return { restBytes: of('VmRSS'), peakBytes: of('VmHWM') }
}

async function until(what: string, isDone: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + timeoutMs
  while (!(await isDone())) {
    if (performance.now() > deadline) throw new Error(`not within ${timeoutMs / 1000} s: ${what}`)
    await sleep(50)
  }
}

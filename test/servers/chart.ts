import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { helmBinary } from './helm-binary.ts'
import type { Kube } from './kube.ts'
import { kubeVersion } from './kube-binaries.ts'
import { type KubeObject, refOf, trueCondition } from './kube-object.ts'
import { type CommandResult, runCommand } from './run-command.ts'

/** What a user writes into a values file; what is left out has its default. */
export type ChartValues = Record<string, unknown>

export interface RenderOptions {
  /** Of the release; the chart's name when nothing is said. */
  release?: string
  namespace?: string
}

export interface InstalledChart {
  objects: KubeObject[]
  /** The name of the operator's account in the namespace. */
  serviceAccount: string
  /** Of the pods of jobs. */
  jobServiceAccount: string
  /** Of the operator's container. */
  args: string[]
}

export const chartFolder = resolve(import.meta.dirname, '../../deploy/helm/kafka-backup-operator')
export const chartName = 'kafka-backup-operator'

/** What `helm template` makes of the chart. */
export async function renderChart(values: ChartValues = {}, options: RenderOptions = {}): Promise<KubeObject[]> {
  const { stdout, stderr, exitCode } = await runTemplate(values, options)
  if (exitCode !== 0) throw new Error(`helm template exited with ${exitCode}:\n${stderr}`)
  return parseObjects(stdout)
}

/** The command itself, for what it refuses. */
export function runTemplate(values: ChartValues, options: RenderOptions = {}): Promise<CommandResult> {
  const { release = chartName, namespace = 'default' } = options
  return runHelm(['template', release, chartFolder, '--namespace', namespace, '--kube-version', kubeVersion], values)
}

/** Runs helm with folders of its own and the values, where there are any, as a file. */
export async function runHelm(args: readonly string[], values?: ChartValues): Promise<CommandResult> {
  const folder = await mkdtemp(join(tmpdir(), 'kafka-backup-helm-'))
  try {
    const file = join(folder, 'values.json')
    await writeFile(file, JSON.stringify(values ?? {}))
    const given = values === undefined ? [] : ['--values', file]
    const own = { HELM_CACHE_HOME: folder, HELM_CONFIG_HOME: folder, HELM_DATA_HOME: folder }
    return await runCommand(await helmBinary(), [...args, ...given], { env: { ...process.env, ...own } })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/**
 * Applies what the chart renders, in an order in which each is accepted, and waits for the CRDs. Without
 * `withDeployment` the operator itself is left out, for a test that runs it by its own hands with the chart's account.
 */
export async function installChart(
  kube: Kube,
  namespace: string,
  values: ChartValues = {},
  { withDeployment = false }: { withDeployment?: boolean } = {},
): Promise<InstalledChart> {
  const objects = await renderChart(values, { namespace })
  const isTest = ({ metadata }: KubeObject) => metadata.annotations?.['helm.sh/hook'] === 'test'
  const wanted = objects.filter(object => !isTest(object) && (withDeployment || object.kind !== 'Deployment'))
  for (const object of inOrder(wanted)) await kube.api.apply(object, 'helm')
  const definitions = wanted.filter(({ kind }) => kind === 'CustomResourceDefinition')
  for (const each of definitions) {
    await kube.api.wait(refOf(each), made => trueCondition(made, 'Established') !== undefined)
  }
  return { objects, ...readDeployment(objects) }
}

export function parseObjects(text: string): KubeObject[] {
  return parseAllDocuments(text)
    .map(document => {
      // A key that is there twice, say: not every reader of YAML takes that.
      const [error] = document.errors
      if (error !== undefined) throw error
      return document.toJS() as KubeObject | null
    })
    .filter(object => object !== null)
}

/** As helm does: definitions and accounts before what refers to them. */
export function inOrder(objects: readonly KubeObject[]): KubeObject[] {
  const first = ['CustomResourceDefinition', 'ServiceAccount', 'ClusterRole', 'Role']
  const rank = ({ kind }: KubeObject) => (first.includes(kind) ? first.indexOf(kind) : first.length)
  return objects.toSorted((one, other) => rank(one) - rank(other))
}

function readDeployment(objects: readonly KubeObject[]): Omit<InstalledChart, 'objects'> {
  const deployment = objects.find(({ kind }) => kind === 'Deployment')
  if (deployment === undefined) throw new Error('the chart has no Deployment')
  const { template } = deployment.spec as OperatorDeployment
  const [{ args }] = template.spec.containers
  const jobAccount = args.find(arg => arg.startsWith('--job-service-account='))
  return {
    serviceAccount: template.spec.serviceAccountName,
    jobServiceAccount: jobAccount?.slice('--job-service-account='.length) ?? 'default',
    args,
  }
}

interface OperatorDeployment {
  template: { spec: { serviceAccountName: string; containers: [{ args: string[] }] } }
}

import assert from 'node:assert/strict'
import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { resourceKinds } from '../../src/operator/crd/resource.ts'
import { type ChartValues, chartFolder, chartName, runHelm } from '../servers/chart.ts'
import { makeGuardedFolder } from '../servers/guard.ts'
import { type Kube, startKube } from '../servers/kube.ts'
import type { KubeObject } from '../servers/kube-object.ts'
import { waitFor } from '../servers/use-kube.ts'

const { apiVersion, kind } = resourceKinds().backup
const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  name: 'kafkabackups.kafka-backup.dev',
}

let kube: Kube
let namespace: string
let kubeconfig: string
let folder: Awaited<ReturnType<typeof makeGuardedFolder>>

before(async () => {
  kube = await startKube()
  folder = await makeGuardedFolder('chart')
  namespace = await kube.makeNamespace('release')
  kubeconfig = await kube.kubeconfigFor({ user: 'installer', groups: ['system:masters'] })
})
after(async () => {
  await kube?.stop()
  await folder?.remove()
})

test('an upgrade installs new CRDs, and resources survive an uninstall', async () => {
  const deployment = { apiVersion: 'apps/v1', kind: 'Deployment', namespace, name: chartName }
  await helm('install', await makeOldChart())
  assert.equal(await shortNames(), undefined)
  const backup = await createBackup()

  await helm('upgrade', chartFolder, { replicas: 3 })
  assert.deepEqual(await shortNames(), ['kbk'])
  assert.equal(((await kube.api.get(deployment)).spec as { replicas: number }).replicas, 3)

  await helm('uninstall')
  await kube.api.waitGone(deployment)
  assert.equal((await kube.api.get(backup)).metadata.uid, backup.uid)

  await helm('install', chartFolder)
  assert.equal((await kube.api.get(backup)).metadata.uid, backup.uid)
  assert.ok(await kube.api.get(deployment))

  await helm('upgrade', chartFolder, { crds: { keep: false } })
  await helm('uninstall')
  await kube.api.waitGone(definition)
})

async function helm(verb: string, chart?: string, values?: ChartValues): Promise<void> {
  const at = ['--namespace', namespace, '--kubeconfig', kubeconfig]
  const { stdout, stderr, exitCode } = await runHelm([verb, chartName, ...(chart ? [chart] : []), ...at], values)
  assert.equal(exitCode, 0, `helm ${verb}: ${stderr}${stdout}`)
}

/** The chart with a definition that lacks what the next version has. */
async function makeOldChart(): Promise<string> {
  const old = join(folder.path, chartName)
  await cp(chartFolder, old, { recursive: true })
  const template = join(old, 'templates/crds/kafkabackups.yaml')
  const text = await readFile(template, 'utf8')
  const older = text.replace(/ {4}shortNames:\n( {6}- \w+\n)+/, '')
  assert.notEqual(older, text)
  await writeFile(template, older)
  return old
}

async function shortNames(): Promise<string[] | undefined> {
  return ((await kube.api.get(definition)).spec as { names: { shortNames?: string[] } }).names.shortNames
}

async function createBackup() {
  const spec = {
    kafkaCluster: { bootstrapServers: ['kafka:9092'] },
    topics: { include: ['*'] },
    storage: { backend: 'pvc', pvc: { claimName: 'backups' } },
  }
  const object: KubeObject = { apiVersion, kind, metadata: { name: 'nightly', namespace }, spec }
  const isServed = () =>
    kube.api.list({ apiVersion, kind, namespace }).then(
      () => true,
      () => false,
    )
  await waitFor('the API server serves the kind', isServed)
  const made = await kube.api.create(object)
  return { apiVersion, kind, namespace, name: 'nightly', uid: made.metadata.uid }
}

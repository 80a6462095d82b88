import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { resourceKinds } from '../../src/operator/crd/resource.ts'
import { gitopsCases } from '../operator/plan/gitops-cases.ts'
import { gitopsBinary } from '../servers/gitops-binary.ts'

const root = resolve(import.meta.dirname, '../..')
const script = join(root, 'deploy/argocd/health.lua')

test('kstatus, which Flux and Helm use, and the health script of Argo CD judge every situation as documented', async () => {
  const input = JSON.stringify(gitopsCases.map(({ resource }) => resource))
  const { stdout, stderr, status } = spawnSync(await gitopsBinary(), [script], { input, encoding: 'utf8' })
  assert.equal(status, 0, stderr)
  const verdicts = JSON.parse(stdout) as { kstatus: string; health: string; message: string }[]
  assert.deepEqual(
    verdicts.map(({ kstatus, health }, at) => [gitopsCases[at]?.name, kstatus, health]),
    gitopsCases.map(({ name, kstatus, health }) => [name, kstatus, health]),
  )
  for (const { message } of verdicts) assert.ok(message.length > 10, message)
})

test('docs/gitops.md has the health script for every kind', () => {
  const page = readFileSync(join(root, 'docs/gitops.md'), 'utf8')
  const [, text = ''] = /```yaml\n(apiVersion: v1\nkind: ConfigMap\n[\s\S]*?)```/.exec(page) ?? []
  const { data } = parse(text) as { data: Record<string, string> }
  const names = Object.values(resourceKinds()).map(
    ({ kind }) => `resource.customizations.health.kafka-backup.dev_${kind}`,
  )
  assert.deepEqual(Object.keys(data), names)
  for (const name of names) assert.equal(data[name], readFileSync(script, 'utf8'), name)
})

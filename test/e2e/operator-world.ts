import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import type { Controller, ResourceSpec } from '../../src/operator/crd/resource.ts'
import type { Phase } from '../../src/operator/crd/status.ts'
import type { ChartValues } from '../servers/chart.ts'
import type { Kube } from '../servers/kube.ts'
import type { ObjectRef } from '../servers/kube-object.ts'
import { kafkaBackupImage } from '../servers/kubelet-images.ts'
import type { Operator } from '../servers/operator.ts'
import { type OperatorStage, openOperatorStage } from '../servers/operator-stage.ts'

/** A control plane, a runner of pods with the image of the project, and one operator, for the tests of a file. */
export interface OperatorWorld {
  stage: OperatorStage
  operator: Operator
  run(controller: Controller, name: string, spec: ResourceSpec, phase?: Phase): ReturnType<typeof runResource>
}

/**
 * With `startOwnKube` the control plane is not one that other test files use at the same time. With `values` of the chart, `prepare`
 * can install what the operator then needs; `flags` are further ones of the operator.
 */
export function useOperatorWorld(
  startOwnKube?: () => Promise<Kube>,
  {
    values = {},
    flags = [],
    prepare,
  }: { values?: ChartValues; flags?: string[]; prepare?: (kube: Kube) => Promise<void> } = {},
): OperatorWorld {
  const world = {} as OperatorWorld
  before(async () => {
    const own = startOwnKube && { kube: await startOwnKube() }
    world.stage = await openOperatorStage({ image: kafkaBackupImage(), values, ...own })
    await prepare?.(world.stage.kube)
    world.operator = await world.stage.start({ flags })
    world.run = (controller, name, spec, phase = 'Completed') => runResource(world, controller, name, spec, phase)
  })
  after(() => world.stage?.stop())
  return world
}

/** Makes the resource, and waits for the end of its run. */
async function runResource(
  { stage }: OperatorWorld,
  controller: Controller,
  name: string,
  spec: ResourceSpec,
  phase: Phase,
) {
  const ref = await stage.apply(controller, name, spec)
  return { ref, status: await stage.untilPhase(ref, phase) }
}

/** Starts a run by the annotation that asks for one, and gives the status with its end in it. */
export async function trigger({ stage }: OperatorWorld, ref: ObjectRef, value: string) {
  const ended = (await stage.status(ref)).history?.length ?? 0
  await stage.annotate(ref, { [`${ref.apiVersion.split('/')[0]}/trigger`]: value })
  return stage.until(
    ref,
    `run again for ${value}`,
    ({ history = [], lastTrigger, active = [] }) =>
      lastTrigger === value && history.length > ended && active.length === 0,
  )
}

/** None of the texts is anywhere but in the secrets, neither as it is nor encoded. */
export async function assertKeptSecret({ stage }: OperatorWorld, secrets: readonly string[]): Promise<void> {
  const everything = await stage.everything()
  for (const secret of secrets) {
    for (const form of [secret, JSON.stringify(secret).slice(1, -1), Buffer.from(secret).toString('base64')]) {
      const at = everything.indexOf(form)
      assert.equal(at, -1, `a secret is told: …${everything.slice(Math.max(0, at - 200), at + 200)}…`)
    }
  }
}
